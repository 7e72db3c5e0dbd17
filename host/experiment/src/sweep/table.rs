//! One tidy table of all points.

use crate::batch::Point;
use gleaner_sim::run::Summary;

/// Writes one row per point that is done: its keys, then its figures.
#[must_use]
pub fn csv(points: &[(&Point, &Summary)]) -> String {
    let mut text = String::from("point");
    if let Some((first, _)) = points.first() {
        for (key, _) in &first.values {
            text.push_str(&format!(",{key}"));
        }
    }
    text.push_str(&format!(",{}\n", Summary::CSV_HEADER));
    for (point, summary) in points {
        text.push_str(&point.id);
        for (_, value) in &point.values {
            text.push_str(&format!(",{}", cell(value)));
        }
        text.push_str(&format!(",{}\n", summary.csv_cells()));
    }
    text
}

/// Writes a value as one cell: a text without its quotes, unless a comma or a quote needs them.
fn cell(value: &str) -> String {
    let text = value.trim_matches('"');
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn a_command_with_commas_is_one_cell() {
        assert_eq!(cell("\"random\""), "random");
        assert_eq!(cell("0.5"), "0.5");
        assert_eq!(cell("[1, 2]"), "\"[1, 2]\"");
        assert_eq!(cell("\"process:a 'x,\"y'\""), "\"process:a 'x,\"\"y'\"");
    }
}
