//! Output of studies: sections of text, tables and plots, and the files that they become.

use std::fs;
use std::path::Path;

use gleaner_files::{FileError, write_atomically};
use gleaner_sim::policy::Scheduler;
use gleaner_sim::report::Page;
use gleaner_sim::report::plot::{LineChart, Series};
use gleaner_sim::report::table::Table;
use gleaner_sim::run::RunDirectory;
use serde_json::Value;
use strum::VariantArray;

use crate::stats::Statistic;

/// A plot: the name of its file without extension, the SVG text and a caption.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) svg: String,
    pub(crate) caption: String,
}

/// A part of a report: paragraphs, tables with titles, plots, and rows of a CSV file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) text: Vec<String>,
    pub(crate) tables: Vec<(String, Table)>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) csv: String,
}

impl Section {
    /// Starts an empty section.
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// Tells whether the section has neither tables nor plots.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.figures.is_empty()
    }

    /// Adds a paragraph before the tables.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.text.push(text.into());
    }

    /// Adds a table, unless it has no rows.
    pub(crate) fn table(&mut self, title: impl Into<String>, table: Table) {
        if !table.rows.is_empty() {
            self.tables.push((title.into(), table));
        }
    }

    /// Adds a plot after the tables.
    pub(crate) fn draw(
        &mut self,
        name: impl Into<String>,
        svg: String,
        caption: impl Into<String>,
    ) {
        self.figures.push(Figure {
            name: name.into(),
            svg,
            caption: caption.into(),
        });
    }

    /// Adds a row to the CSV, below its header if it is the first.
    pub(crate) fn csv_row(&mut self, header: &str, cells: &[&dyn std::fmt::Display]) {
        if self.csv.is_empty() {
            self.csv = format!("{header}\n");
        }
        let cells: Vec<String> = cells.iter().map(ToString::to_string).collect();
        self.csv.push_str(&cells.join(","));
        self.csv.push('\n');
    }
}

/// Result of a study: text for the terminal, JSON, and files by name.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the struct's documentation says it")]
pub struct Findings {
    pub text: String,
    pub json: Value,
    pub files: Vec<(String, String)>,
}

impl Findings {
    /// Adds a section to the page, and its plots to the files.
    pub(crate) fn section(&mut self, page: &mut Page, section: &Section) {
        if !section.title.is_empty() {
            page.heading(&section.title);
        }
        section.text.iter().for_each(|text| page.paragraph(text));
        for (title, table) in &section.tables {
            if !title.is_empty() {
                page.paragraph(title);
            }
            page.table(table);
        }
        for figure in &section.figures {
            page.figure(&figure.svg, &figure.caption);
            self.file(format!("plots/{}.svg", figure.name), figure.svg.clone());
        }
    }

    /// Adds a file by its name in the directory.
    pub(crate) fn file(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.files.push((name.into(), text.into()));
    }

    /// Adds the page as `report.html`.
    pub(crate) fn page(&mut self, page: &Page) {
        self.file(RunDirectory::REPORT, page.finish());
    }

    /// Writes all files, each whole or not at all.
    pub fn write(&self, dir: &Path) -> Result<(), FileError> {
        let plots = dir.join(RunDirectory::PLOTS);
        fs::create_dir_all(&plots).map_err(gleaner_files::at(&plots))?;
        for (name, text) in &self.files {
            write_atomically(&dir.join(name), text.as_bytes())?;
        }
        Ok(())
    }
}

/// Renders a line chart.
pub(crate) fn lines(
    title: &str,
    labels: (&str, &str),
    from_zero: bool,
    series: Vec<Series>,
) -> String {
    chart(title, labels, from_zero, series).render()
}

/// Returns a line chart without a note.
pub(crate) fn chart(
    title: &str,
    (x_label, y_label): (&str, &str),
    from_zero: bool,
    series: Vec<Series>,
) -> LineChart {
    LineChart {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        from_zero,
        series,
        note: String::new(),
    }
}

/// Returns the colour of a scheduler, the same in every plot.
pub(crate) fn colour_of(scheduler: Scheduler) -> usize {
    // The first six keep the colours they have in earlier reports.
    const FIRST: [usize; 6] = [0, 5, 1, 2, 3, 4];
    let mut all = Scheduler::VARIANTS.iter();
    let place = all.position(|&other| other == scheduler);
    let place = place.unwrap_or_default();
    FIRST.get(place).copied().unwrap_or(place)
}

/// Returns the mean of a figure over the seeds, round by round, with a band from the smallest to the
/// largest value; rounds without a value are left out.
pub(crate) fn over_seeds(name: String, colour: usize, seeds: &[Vec<(u32, Option<f64>)>]) -> Series {
    let (mut line, mut band) = (Vec::new(), Vec::new());
    for at in 0..seeds.iter().map(Vec::len).min().unwrap_or(0) {
        let round = f64::from(seeds[0][at].0);
        let values: Vec<f64> = seeds.iter().filter_map(|seed| seed[at].1).collect();
        if round < 1.0 || values.is_empty() {
            continue;
        }
        line.push((round, Statistic::of(&values).mean));
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        band.push((round, low, high));
    }
    Series::line(name, colour, line).with_band(band)
}
