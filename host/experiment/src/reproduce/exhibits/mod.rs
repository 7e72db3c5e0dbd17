//! One file per exhibit: the settings that it runs (`settings`) and how it shows the runs (`show`).

pub mod accuracy;
pub mod bound;
pub mod clients;
pub mod curves;
pub mod factor;
pub mod solution;
pub mod statistics;

use super::*;

/// Returns CRE with either set of formulas in the middle cell.
pub fn cre_settings(network: Network) -> Vec<Setting> {
    let formulas = Formulas::VARIANTS.iter();
    formulas
        .map(|&formulas| Setting::cre(network, formulas, Cell::MIDDLE))
        .collect()
}

fn over_rounds(title: &str, y_label: &str, series: Vec<Series>, note: &str) -> String {
    LineChart {
        title: title.to_owned(),
        x_label: "communication round".to_owned(),
        y_label: y_label.to_owned(),
        from_zero: false,
        series,
        note: note.to_owned(),
    }
    .render()
}

/// Removes the bands of lines, of which a dozen on top of each other show nothing.
fn without_bands(mut series: Vec<Series>) -> Vec<Series> {
    series.iter_mut().for_each(|line| line.band.clear());
    series
}

/// Formats a number of a CSV file.
fn number(value: f64) -> String {
    format!("{value:.4}")
}
