//! One tidy table of all points.

use crate::run::Summary;
use crate::study::batch::Point;

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
            text.push_str(&format!(",{}", value.trim_matches('"')));
        }
        text.push_str(&format!(",{}\n", summary.csv_cells()));
    }
    text
}
