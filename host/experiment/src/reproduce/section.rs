//! What an exhibit came to: text, tables, drawings and a CSV.

use super::exhibit::Exhibit;
use gleaner_sim::report::table::Table;

/// A table with its heading.
#[derive(Clone, Debug)]
pub struct Titled {
    /// What stands above it.
    pub title: String,
    /// The table.
    pub table: Table,
}

/// A plot with the name of its file.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Its file name, without ending.
    pub name: String,
    /// The SVG text.
    pub svg: String,
    /// What to see in it.
    pub caption: String,
}

/// What an exhibit came to.
#[derive(Clone, Debug)]
pub struct Section {
    /// Which exhibit.
    pub exhibit: Exhibit,
    /// Paragraphs before the tables.
    pub text: Vec<String>,
    /// The tables.
    pub tables: Vec<Titled>,
    /// The plots.
    pub drawings: Vec<Drawing>,
    /// One tidy table for other tools, empty where nothing was run.
    pub csv: String,
}

impl Section {
    /// Starts an empty section.
    #[must_use]
    pub const fn new(exhibit: Exhibit) -> Self {
        Self {
            exhibit,
            text: Vec::new(),
            tables: Vec::new(),
            drawings: Vec::new(),
            csv: String::new(),
        }
    }

    /// Returns how many tables and drawings it has.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.tables.len() + self.drawings.len()
    }

    /// Adds a paragraph.
    pub fn say(&mut self, text: impl Into<String>) {
        self.text.push(text.into());
    }

    /// Adds a table, unless it has no rows.
    pub fn table(&mut self, title: impl Into<String>, table: Table) {
        if !table.rows.is_empty() {
            let title = title.into();
            self.tables.push(Titled { title, table });
        }
    }

    /// Adds a plot.
    pub fn draw(&mut self, name: impl Into<String>, svg: String, caption: impl Into<String>) {
        self.drawings.push(Drawing {
            name: name.into(),
            svg,
            caption: caption.into(),
        });
    }

    /// Adds a row to the CSV, below its header if it is the first.
    pub fn csv_row(&mut self, header: &str, cells: &[&dyn std::fmt::Display]) {
        if self.csv.is_empty() {
            self.csv = format!("{header}\n");
        }
        let cells: Vec<String> = cells.iter().map(ToString::to_string).collect();
        self.csv.push_str(&cells.join(","));
        self.csv.push('\n');
    }
}
