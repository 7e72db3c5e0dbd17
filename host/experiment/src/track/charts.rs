//! The plots of a track: what energy buys, part by part and cell by cell.

use super::curve::{self, Reading};
use super::part::Part;
use super::race::Outcome;
use super::standing::Standing;
use crate::compare::colour_of;
use gleaner_sim::policy::BaselinePower;
use gleaner_sim::report::plot::{LineChart, Mark, Series};

/// Points of a curve.
const POINTS: usize = 120;

/// A plot with the name of its file.
pub(super) struct Drawing {
    pub(super) name: String,
    pub(super) svg: String,
    pub(super) caption: &'static str,
}

/// Draws the plots of one part in one cell.
pub(super) fn draw(outcome: &Outcome, part: Part, cell: usize) -> [Drawing; 2] {
    let field = outcome.field(part, cell);
    let place = &outcome.track.cells[cell];
    let (slug, title) = (place.slug(), format!("{}, {}", part.title(), place.name));
    [
        Drawing {
            name: format!("energy-{part}-{slug}"),
            svg: chart(
                &title,
                ("energy of all clients so far (mJ)", "test accuracy (%)"),
                field.iter().map(|standing| line(standing)).collect(),
            ),
            caption: "Accuracy after so many millijoules, mean over the seeds on a common grid of \
                      energies; a line ends where the first of its seeds has.",
        },
        Drawing {
            name: format!("trade-off-{part}-{slug}"),
            svg: chart(
                &title,
                (
                    "energy of all clients per round (mJ)",
                    "test accuracy, last tenth (%)",
                ),
                field.iter().map(|standing| point(standing)).collect(),
            ),
            caption: "Up and to the left is better. Hollow: baselines at the least power that meets \
                      the deadline.",
        },
    ]
}

fn chart(title: &str, (x_label, y_label): (&str, &str), series: Vec<Series>) -> String {
    LineChart {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        from_zero: false,
        series,
        note: String::new(),
    }
    .render()
}

fn line(standing: &Standing) -> Series {
    let ends = standing.curves().map(|curve| curve.end_j());
    let end_j = ends.fold(f64::INFINITY, f64::min);
    let end_j = if end_j.is_finite() { end_j } else { 0.0 };
    let points = (0..=POINTS).filter_map(|n| {
        let energy_j = end_j * n as f64 / POINTS as f64;
        match curve::mean(standing.curves(), energy_j) {
            Reading::At(accuracy) => Some((1e3 * energy_j, 100.0 * accuracy)),
            Reading::Before | Reading::Ended(_) => None,
        }
    });
    let entrant = &standing.entrant;
    let series = Series::line(
        entrant.name(),
        colour_of(entrant.scheduler),
        points.collect(),
    );
    match entrant.power {
        Some(BaselinePower::Max) => series.with_mark(Mark::Dashed),
        _ => series,
    }
}

fn point(standing: &Standing) -> Series {
    let energy = standing.statistic(|summary| 1e3 * summary.energy_per_round_j);
    let accuracy = standing.statistic(|summary| 100.0 * summary.tail_accuracy);
    let entrant = &standing.entrant;
    let mark = match entrant.power {
        Some(BaselinePower::Min) => Mark::Rings,
        _ => Mark::Discs,
    };
    let at = vec![(energy.mean, accuracy.mean)];
    Series::line(entrant.name(), colour_of(entrant.scheduler), at).with_mark(mark)
}
