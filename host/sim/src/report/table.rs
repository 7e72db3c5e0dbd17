//! Tables for the terminal and for pages.

use gleaner_files::printable;

use super::text::escape;

/// Rows of text under a header; the first column is aligned left, the others right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Headings of the columns.
    pub header: Vec<String>,
    /// Cells of every row.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns a table without rows.
    #[must_use]
    pub fn new(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(|&text| text.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Appends a row of cells.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Writes the table with aligned columns.
    #[must_use]
    pub fn to_text(&self) -> String {
        let columns = self.header.len();
        let shown = |row: &Vec<String>| {
            row.iter()
                .map(|cell| printable(cell).into_owned())
                .collect()
        };
        let header: Vec<String> = shown(&self.header);
        let rows: Vec<Vec<String>> = self.rows.iter().map(shown).collect();
        let width = |column: usize| {
            rows.iter()
                .chain([&header])
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &width))| {
                    if column == 0 {
                        format!("{cell:<width$}")
                    } else {
                        format!("{cell:>width$}")
                    }
                })
                .collect();
            format!("{}\n", cells.join("  ").trim_end())
        };
        let rule: usize = widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1);
        let mut text = line(&header);
        text.push_str(&format!("{}\n", "-".repeat(rule)));
        text.extend(rows.iter().map(line));
        text
    }

    /// Writes the table as Markdown.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let cell = |cell: &String| printable(cell).replace('|', "\\|");
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().map(cell).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = "---|".repeat(self.header.len());
        let body: String = self.rows.iter().map(line).collect();
        format!("{}|{rule}\n{body}", line(&self.header))
    }

    /// Writes the table as HTML.
    #[must_use]
    pub fn to_html(&self) -> String {
        let cells = |row: &Vec<String>, tag: &str| -> String {
            row.iter()
                .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)))
                .collect()
        };
        let body: String = self
            .rows
            .iter()
            .map(|row| format!("<tr>{}</tr>\n", cells(row, "td")))
            .collect();
        format!(
            "<table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n",
            cells(&self.header, "th")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["scheduler", "mJ"]);
        table.row(vec!["cre".into(), "3.4".into()]);
        table.row(vec!["channel-allocate".into(), "17.4".into()]);
        assert_eq!(
            table.to_text(),
            "scheduler           mJ\n----------------------\ncre                3.4\nchannel-allocate  17.4\n"
        );
        assert!(
            table
                .to_html()
                .contains("<td>channel-allocate</td><td>17.4</td>")
        );
    }

    #[test]
    fn cells_draw_nothing_on_a_terminal_and_add_no_line() {
        let mut table = Table::new(&["class", "n"]);
        table.row(vec!["a\u{1b}[2J\nb\u{202e}".into(), "1".into()]);
        for text in [table.to_text(), table.to_markdown()] {
            assert!(text.contains("a\\u{1b}[2J\\u{a}b\\u{202e}"), "{text}");
            assert_eq!(text.lines().count(), 3);
        }
        let html = table.to_html();
        assert!(html.contains("a\\u{1b}[2J"), "{html}");
    }

    #[test]
    fn markdown_keeps_bars_inside_their_cells() {
        let mut table = Table::new(&["a|b", "mJ"]);
        table.row(vec!["cre".into(), "3.4".into()]);
        assert_eq!(
            table.to_markdown(),
            "| a\\|b | mJ |\n|---|---|\n| cre | 3.4 |\n"
        );
    }
}
