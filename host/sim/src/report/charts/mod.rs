//! The plots of one run: round by round, and client by client.

mod bands;
mod clients;
mod phases;
mod rounds;
mod stack;

use super::data::RunData;
use super::plot::{LineChart, Series};

/// A rendered chart and its caption.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its file name, without ending.
    pub name: &'static str,
    /// The chart as SVG text.
    pub svg: String,
    /// Caption below the chart.
    pub caption: String,
}

/// Draws every plot of a run.
pub(super) fn run_charts(run: &RunData) -> Vec<Chart> {
    vec![
        rounds::accuracy(run),
        rounds::energy(run),
        clients::queues(run),
        clients::schedule(run),
        rounds::powers(run),
        rounds::epochs(run),
        rounds::loss(run),
        clients::energy(run),
        clients::work(run),
    ]
}

/// Returns the charts of the energy by phase over the rounds.
pub(super) fn stack_charts(run: &RunData) -> Vec<Chart> {
    stack::charts(run)
}

/// Returns the charts of energy by phase; none under the paper's accounting.
pub(super) fn energy_charts(run: &RunData) -> Vec<Chart> {
    phases::charts(run)
}

/// A line chart over the rounds.
fn per_round(title: &str, y_label: &str, from_zero: bool, series: Vec<Series>) -> LineChart {
    LineChart {
        title: title.to_owned(),
        x_label: "communication round".to_owned(),
        y_label: y_label.to_owned(),
        from_zero,
        series,
        note: String::new(),
    }
}
