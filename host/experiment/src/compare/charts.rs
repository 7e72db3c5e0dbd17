//! The plots of a comparison.

use super::plan::Row;
use super::statistics::Statistic;
use gleaner_sim::policy::{BaselinePower, Decider, Scheduler};
use gleaner_sim::report::Chart;
use gleaner_sim::report::plot::{BarChart, BarGroup, LineChart, Mark, Series};
use gleaner_sim::round::RoundRow;
use gleaner_sim::run::{LogError, RunDirectory, read_rounds};
use strum::VariantArray;

/// Draws every plot of a comparison.
///
/// # Errors
/// Names the log that cannot be read.
pub(super) fn draw(rows: &[Row]) -> Result<Vec<Chart>, LogError> {
    // One line per scheduler: baselines at full power where they ran so, as the paper has them.
    let own = Scheduler::VARIANTS.iter().filter_map(|scheduler| {
        rows.iter()
            .filter(|row| row.variant.scheduler == *scheduler)
            .max_by_key(|row| row.variant.power != Some(BaselinePower::Min))
    });
    let shown: Vec<&Row> = own.chain(programs(rows)).collect();
    let logs: Vec<Vec<Vec<RoundRow>>> = shown
        .iter()
        .map(|row| {
            let read = |run: &RunDirectory| read_rounds(&run.file(RunDirectory::ROUNDS));
            row.runs.iter().map(read).collect()
        })
        .collect::<Result<_, LogError>>()?;
    let curve = |figure: &dyn Fn(&RoundRow) -> Option<f64>| -> Vec<Series> {
        shown
            .iter()
            .zip(&logs)
            .map(|(row, logs)| {
                over_seeds(row.variant.name(), colour_among(rows, row), logs, figure)
            })
            .collect()
    };
    let validation = curve(&|row| Some(100.0 * row.validation_accuracy?));
    let mut charts = vec![
        Chart {
            name: "accuracy",
            svg: chart(
                "Test accuracy, mean over seeds",
                "test accuracy (%)",
                curve(&|row| Some(100.0 * row.accuracy?)),
            ),
            caption: "Lines are means over the seeds, bands reach from the worst to the best seed."
                .to_owned(),
        },
        Chart {
            name: "energy",
            svg: chart(
                "Cumulative energy of all clients, mean over seeds",
                "energy (mJ)",
                curve(&|row| Some(1e3 * row.spent_j)),
            ),
            caption: "What all clients together have spent.".to_owned(),
        },
        trade_off(rows),
        fairness(&shown),
    ];
    if validation.iter().any(|series| !series.points.is_empty()) {
        let title = "Validation accuracy, mean over seeds";
        let svg = chart(title, "validation accuracy (%)", validation);
        let caption = "On images that no client owns: what a choice is made by.".to_owned();
        let name = "validation";
        charts.insert(1, Chart { name, svg, caption });
    }
    Ok(charts)
}

/// The rows of programs.
fn programs(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let is_program = |row: &&Row| matches!(row.variant.scheduler, Decider::Process(_));
    rows.iter().filter(is_program)
}

/// Programs have the colours behind those of all schedulers.
fn colour_among(rows: &[Row], row: &Row) -> usize {
    match &row.variant.scheduler {
        Decider::Own(scheduler) => colour_of(*scheduler),
        Decider::Process(_) => {
            let place = programs(rows).position(|other| other.variant == row.variant);
            Scheduler::VARIANTS.len() + place.unwrap_or_default()
        }
    }
}

/// Every scheduler keeps its colour in every plot, by its place among all of them.
pub(crate) fn colour_of(scheduler: Scheduler) -> usize {
    // The first six keep the colours they have in earlier reports.
    const FIRST: [usize; 6] = [0, 5, 1, 2, 3, 4];
    let mut all = Scheduler::VARIANTS.iter();
    let place = all.position(|&other| other == scheduler);
    let place = place.unwrap_or_default();
    FIRST.get(place).copied().unwrap_or(place)
}

fn chart(title: &str, y_label: &str, series: Vec<Series>) -> String {
    LineChart {
        title: title.to_owned(),
        x_label: "communication round".to_owned(),
        y_label: y_label.to_owned(),
        from_zero: true,
        series,
        note: String::new(),
    }
    .render()
}

/// Returns the mean of a figure over the seeds, round by round, with a band from the least to the
/// largest; rounds that have none are left out.
pub(crate) fn over_seeds(
    name: String,
    colour: usize,
    logs: &[Vec<RoundRow>],
    figure: &dyn Fn(&RoundRow) -> Option<f64>,
) -> Series {
    let (mut line, mut band) = (Vec::new(), Vec::new());
    for at in 0..logs.iter().map(Vec::len).min().unwrap_or(0) {
        let round = f64::from(logs[0][at].round);
        let values: Vec<f64> = logs.iter().filter_map(|log| figure(&log[at])).collect();
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

fn trade_off(rows: &[Row]) -> Chart {
    let series = rows
        .iter()
        .map(|row| {
            let energy = row
                .statistic(|summary| 1e3 * summary.energy_per_round_j)
                .mean;
            let accuracy = row.statistic(|summary| 100.0 * summary.tail_accuracy).mean;
            let quiet = row.variant.power == Some(BaselinePower::Min);
            let mark = if quiet { Mark::Rings } else { Mark::Discs };
            Series::line(
                row.variant.name(),
                colour_among(rows, row),
                vec![(energy, accuracy)],
            )
            .with_mark(mark)
        })
        .collect();
    let chart = LineChart {
        title: "What accuracy costs".to_owned(),
        x_label: "energy of all clients per round (mJ)".to_owned(),
        y_label: "test accuracy, last tenth (%)".to_owned(),
        from_zero: false,
        series,
        note: String::new(),
    };
    Chart {
        name: "trade_off",
        svg: chart.render(),
        caption: "Up and to the left is better. Filled: CRE, and baselines at full power. Hollow: the same \
                  baselines at the least power that meets the deadline, which is where much of \
                  the saving comes from."
            .to_owned(),
    }
}

fn fairness(shown: &[&Row]) -> Chart {
    let bars = shown
        .iter()
        .map(|row| BarGroup {
            label: row.variant.label(),
            parts: vec![row.statistic(|summary| summary.fairness).mean],
            reference: None,
        })
        .collect();
    let chart = BarChart {
        title: "Fairness of participation".to_owned(),
        x_label: "scheduler".to_owned(),
        y_label: "Jain's index".to_owned(),
        parts: vec!["Jain's index".to_owned()],
        reference: String::new(),
        bars,
        note: String::new(),
    };
    Chart {
        name: "fairness",
        svg: chart.render(),
        caption: "1 means every client took part equally often, 1/U that one client did all."
            .to_owned(),
    }
}
