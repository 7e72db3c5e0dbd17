//! Charts over the rounds: accuracy, loss, energy, participants.

use super::bands::band;
use super::{Chart, per_round};
use crate::report::data::RunData;
use crate::report::plot::{Mark, Series};
use crate::round::RoundRow;

fn points(rows: &[RoundRow], value: impl Fn(&RoundRow) -> Option<f64>) -> Vec<(f64, f64)> {
    rows.iter()
        .filter(|row| row.round > 0)
        .filter_map(|row| Some((f64::from(row.round), value(row)?)))
        .collect()
}

pub(super) fn accuracy(run: &RunData) -> Chart {
    let measured = points(&run.rounds, |row| Some(100.0 * row.accuracy?));
    let validated = points(&run.rounds, |row| Some(100.0 * row.validation_accuracy?));
    let mut caption =
        "Share of test images the global model classifies correctly after each round. \
                  Rounds with a single participant pull the model towards that client's data, \
                  hence the teeth; the summary therefore also gives the mean over the last tenth."
            .to_owned();
    let chart = if validated.is_empty() {
        let series = vec![Series::line("accuracy", 0, measured)];
        per_round("Test accuracy", "test accuracy (%)", false, series)
    } else {
        caption.push_str(" The dashed line is the same on training images that no client owns.");
        let series = vec![
            Series::line("test", 0, measured),
            Series::line("validation", 1, validated).with_mark(Mark::Dashed),
        ];
        per_round("Accuracy", "accuracy (%)", false, series)
    };
    Chart {
        name: "accuracy",
        svg: chart.render(),
        caption,
    }
}

pub(super) fn energy(run: &RunData) -> Chart {
    let running = |value: fn(&RoundRow) -> f64| {
        let mut sum = 0.0;
        let mut line = Vec::new();
        for row in &run.rounds {
            sum += value(row);
            if row.round > 0 {
                line.push((f64::from(row.round), 1e3 * sum));
            }
        }
        line
    };
    let mut caption = "What all clients together harvested and spent since the start.".to_owned();
    if let Some(profile) = &run.profile {
        caption.push_str(&format!(
            " Costs are a profile's ({}). The band holds 95 % of 200 profiles drawn from its covariance, for \
             the same orders: who trains how long was decided by the profile itself.",
            profile.label()
        ));
    }
    let spent = points(&run.rounds, |row| Some(1e3 * row.cumulative_spent_j));
    let series = vec![
        Series::line("harvest", 6, running(|row| row.harvest_j)).with_mark(Mark::Dashed),
        Series::line("spent", 0, spent).with_band(band(run)),
        Series::line("compute", 2, running(|row| row.compute_j)),
        Series::line("of it sending", 1, running(|row| row.radio_j)),
    ];
    let chart = per_round(
        "Cumulative energy of all clients",
        "energy (mJ)",
        true,
        series,
    );
    Chart {
        name: "energy",
        svg: chart.render(),
        caption,
    }
}

pub(super) fn loss(run: &RunData) -> Chart {
    let mut series = vec![
        Series::line(
            "training loss F, as reported",
            0,
            points(&run.rounds, |row| row.train_loss),
        ),
        Series::line("test loss", 2, points(&run.rounds, |row| row.test_loss)),
    ];
    let validation = points(&run.rounds, |row| row.validation_loss);
    if !validation.is_empty() {
        series.push(Series::line("validation loss", 3, validation));
    }
    let bound = points(&run.rounds, |row| row.bound);
    let has_bound = !bound.is_empty();
    let mut chart = if !has_bound {
        per_round("Loss", "cross-entropy (nats)", true, series)
    } else {
        series.push(Series::line("the plan's bound on F - F*", 1, bound).with_mark(Mark::Dashed));
        per_round("Bound against loss", "cross-entropy (nats)", true, series)
    };
    let mut caption = "Loss on the clients' data as the base station knows it, and on the test \
                       set."
        .to_owned();
    if has_bound {
        chart.note = format!(
            "B1 = {} is a tuning knob, not the distance to the optimum: the \"bound\" may lie \
             below the loss.",
            run.scenario.cre.b1
        );
        caption.push_str(
            " The dashed line is what Corollary 1 promises for the plan that was chosen. Its \
             constant B1 is tuned (an honest ||theta - theta*|| makes \"nobody trains\" \
             optimal): read the line as the optimiser's yardstick, not as a guarantee.",
        );
    }
    Chart {
        name: "loss",
        svg: chart.render(),
        caption,
    }
}

pub(super) fn epochs(run: &RunData) -> Chart {
    let dots = run
        .trained()
        .map(|row| (f64::from(row.round), f64::from(row.epochs)))
        .collect();
    let count = points(&run.rounds, |row| Some(row.participants.len() as f64));
    let series = vec![
        Series::line("epochs \u{3c4} of each participant", 0, dots).with_mark(Mark::Dots),
        Series::line(
            "participants, mean of ten rounds",
            1,
            running_mean(&count, 10),
        ),
    ];
    let chart = per_round("Local epochs and participants", "count", true, series);
    Chart {
        name: "epochs",
        svg: chart.render(),
        caption: "Local epochs of each participant, and how many took part.".to_owned(),
    }
}

/// Averages each point with the ones before it, `window` in all.
fn running_mean(points: &[(f64, f64)], window: usize) -> Vec<(f64, f64)> {
    (0..points.len())
        .map(|at| {
            let recent = &points[(at + 1).saturating_sub(window)..=at];
            let sum: f64 = recent.iter().map(|point| point.1).sum();
            (points[at].0, sum / recent.len() as f64)
        })
        .collect()
}

pub(super) fn powers(run: &RunData) -> Chart {
    let sent = run
        .trained()
        .map(|row| (f64::from(row.round), 1e3 * row.power_w))
        .collect();
    let series = vec![Series::line("power", 0, sent).with_mark(Mark::Dots)];
    let chart = per_round(
        "Transmit power of the participants",
        "power (mW)",
        true,
        series,
    );
    Chart {
        name: "power",
        svg: chart.render(),
        caption: "One dot per participant and round.".to_owned(),
    }
}
