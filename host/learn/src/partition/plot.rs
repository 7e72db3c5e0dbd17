//! A plot of a partition: one horizontal bar per client, stacked by class.

use std::fmt::Write;

use super::table::Table;

/// Ten colours that differ for most kinds of colour vision, light and dark in turn.
const COLOURS: [&str; 10] = [
    "#332288", "#88ccee", "#117733", "#ddcc77", "#882255", "#44aa99", "#aa4499", "#999933",
    "#661100", "#cc6677",
];
const ROW: usize = 22;
const LEFT: usize = 70;
const WIDTH: usize = 640;
const TOP: usize = 56;

/// Draws the table as a self-contained SVG.
#[must_use]
pub fn svg(table: &Table, title: &str) -> String {
    let longest = table.sizes().into_iter().max().unwrap_or(1).max(1);
    let classes = table.counts.first().map_or(0, Vec::len);
    let height = TOP + ROW * table.counts.len() + 30;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"18\" font-size=\"14\">{}</text>\n",
        LEFT + WIDTH + 70,
        escape(title),
    );
    for class in 0..classes {
        let x = LEFT + class * 52;
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"30\" width=\"12\" height=\"12\" fill=\"{}\"/>\
             <text x=\"{}\" y=\"40\">{class}</text>",
            COLOURS[class % COLOURS.len()],
            x + 17,
        );
    }
    for (client, counts) in table.counts.iter().enumerate() {
        let y = TOP + client * ROW;
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">client {client}</text>",
            LEFT - 8,
            y + 13,
        );
        let mut before = 0;
        for (class, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let scale = |samples: usize| (samples * WIDTH) as f64 / longest as f64;
            let _ = writeln!(
                out,
                "<rect x=\"{:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\">\
                 <title>client {client}, class {class}: {count} samples</title></rect>",
                LEFT as f64 + scale(before),
                scale(count),
                ROW - 5,
                COLOURS[class % COLOURS.len()],
            );
            before += count;
        }
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{}\">{before}</text>",
            LEFT as f64 + (before * WIDTH) as f64 / longest as f64 + 6.0,
            y + 13,
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"{}\">training samples by class</text>\n</svg>",
        height - 10
    );
    out
}

fn escape(text: &str) -> String {
    gleaner_files::printable_lines(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_a_bar_for_every_class_a_client_has() {
        let picture = svg(
            &Table {
                counts: vec![vec![3, 0], vec![1, 2]],
                validation: None,
            },
            "d < 1",
        );
        assert_eq!(picture.matches("<title>").count(), 3);
        assert!(picture.contains("client 1, class 1: 2 samples"));
        assert!(picture.contains("d &lt; 1"));
        assert!(picture.ends_with("</svg>\n"));
    }
}
