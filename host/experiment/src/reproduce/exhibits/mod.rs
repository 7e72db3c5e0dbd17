//! One file per exhibit: what it runs (`settings`) and how the runs are read (`show`).

pub mod accuracy;
pub mod bound;
pub mod clients;
pub mod curves;
pub mod factor;
pub mod solution;
pub mod statistics;

use super::edition::{Edition, Network};
use super::scale::{Cell, Extent};
use super::setting::Setting;
use gleaner_sim::report::plot::{LineChart, Series};
use strum::VariantArray;

/// CRE in both editions in the middle cell.
pub fn cre_settings(network: Network, _extent: &Extent) -> Vec<Setting> {
    let editions = Edition::VARIANTS.iter();
    editions
        .map(|&edition| Setting::cre(network, edition, Cell::MIDDLE))
        .collect()
}

/// A chart over the rounds.
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

/// Writes a number with its sign.
fn signed(number: f64) -> String {
    format!("{number:+.1}")
}
