//! The plots of one run.

use super::plot::{BarChart, BarGroup, HeatMap, LineChart, Mark, Series};
use super::run::RunData;
use crate::round::{ClientRow, ClientState, RoundRow};
use crate::run::participations;

/// Up to here every client's queue has a line of its own.
const MOST_QUEUE_LINES: usize = 10;

/// A finished drawing.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its file name, without ending.
    pub name: &'static str,
    /// The SVG text.
    pub svg: String,
    /// What to see in it.
    pub caption: String,
}

/// Draws every plot of a run.
#[must_use]
pub fn run_charts(run: &RunData) -> Vec<Chart> {
    let mut charts = vec![accuracy(run), energy(run), queues(run), schedule(run)];
    charts.extend([powers(run), epochs(run), loss(run)]);
    charts.extend([client_energy(run), client_work(run)]);
    charts
}

fn points(rows: &[RoundRow], value: impl Fn(&RoundRow) -> Option<f64>) -> Vec<(f64, f64)> {
    rows.iter()
        .filter(|row| row.round > 0)
        .filter_map(|row| Some((f64::from(row.round), value(row)?)))
        .collect()
}

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

fn accuracy(run: &RunData) -> Chart {
    let measured = points(&run.rounds, |row| Some(100.0 * row.accuracy?));
    let chart = per_round(
        "Test accuracy",
        "test accuracy (%)",
        false,
        vec![Series::line("accuracy", 0, measured)],
    );
    Chart {
        name: "accuracy",
        svg: chart.render(),
        caption: "Share of test images the global model classifies correctly after each round. \
                  Rounds with a single participant pull the model towards that client's data, \
                  hence the teeth; the summary therefore also gives the mean over the last tenth."
            .to_owned(),
    }
}

fn energy(run: &RunData) -> Chart {
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
    let series = vec![
        Series::line("harvested", 6, running(|row| row.harvest_j)).with_mark(Mark::Dashed),
        Series::line("spent", 0, running(|row| row.compute_j + row.radio_j)),
        Series::line("of it computing", 2, running(|row| row.compute_j)),
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
        caption: "What all clients together harvested and spent since the start.".to_owned(),
    }
}

fn queues(run: &RunData) -> Chart {
    let of_client = |client: usize| -> Vec<(f64, f64)> {
        run.clients
            .iter()
            .filter(|row| row.client == client && row.round > 0)
            .map(|row| (f64::from(row.round), 1e3 * row.queue_j))
            .collect()
    };
    let series = if run.client_count() <= MOST_QUEUE_LINES {
        (0..run.client_count())
            .map(|client| Series::line(format!("client {client}"), client, of_client(client)))
            .collect()
    } else {
        quantiles(run)
    };
    let chart = per_round("Energy queues", "queue Z (mJ)", true, series);
    Chart {
        name: "queues",
        svg: chart.render(),
        caption: "How far each client has overspent its income; a queue of zero means it lives \
                  within its means. CRE avoids clients with long queues."
            .to_owned(),
    }
}

/// With many clients: the longest queue, the median and the shortest.
fn quantiles(run: &RunData) -> Vec<Series> {
    let mut lines = [
        ("longest", 1, Vec::new()),
        ("median", 0, Vec::new()),
        ("shortest", 2, Vec::new()),
    ];
    for rows in run
        .clients
        .chunk_by(|a, b| a.round == b.round)
        .filter(|rows| rows[0].round > 0)
    {
        let mut values: Vec<f64> = rows.iter().map(|row| 1e3 * row.queue_j).collect();
        values.sort_by(f64::total_cmp);
        let round = f64::from(rows[0].round);
        let picks = [values.len() - 1, values.len() / 2, 0];
        for (line, pick) in lines.iter_mut().zip(picks) {
            line.2.push((round, values[pick]));
        }
    }
    lines
        .into_iter()
        .map(|(name, colour, line)| Series::line(name, colour, line))
        .collect()
}

fn schedule(run: &RunData) -> Chart {
    let mut cells = vec![vec![None; run.rounds_done()]; run.client_count()];
    for row in run.trained() {
        cells[row.client][row.round as usize - 1] = Some(f64::from(row.epochs));
    }
    let map = HeatMap {
        title: "Schedule".to_owned(),
        x_label: "communication round".to_owned(),
        y_label: "client".to_owned(),
        value_label: "epochs".to_owned(),
        first_column: 1,
        cells,
        note: String::new(),
    };
    Chart {
        name: "schedule",
        svg: map.render(),
        caption: "Who trained when; the colour is the number of local epochs.".to_owned(),
    }
}

fn powers(run: &RunData) -> Chart {
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

fn epochs(run: &RunData) -> Chart {
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

fn loss(run: &RunData) -> Chart {
    let mut series = vec![
        Series::line(
            "training loss F, as reported",
            0,
            points(&run.rounds, |row| row.train_loss),
        ),
        Series::line("test loss", 2, points(&run.rounds, |row| row.test_loss)),
    ];
    let bound = points(&run.rounds, |row| row.bound);
    let mut chart = if bound.is_empty() {
        per_round("Loss", "cross-entropy (nats)", true, series)
    } else {
        series.push(Series::line("the plan's bound on F - F*", 1, bound).with_mark(Mark::Dashed));
        per_round("Bound against loss", "cross-entropy (nats)", true, series)
    };
    let mut caption = "Loss on the clients' data as the base station knows it, and on the test \
                       set."
        .to_owned();
    if chart.series.len() > 2 {
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

fn client_energy(run: &RunData) -> Chart {
    let total = |client: usize, value: fn(&ClientRow) -> f64| -> f64 {
        run.clients
            .iter()
            .filter(|row| row.client == client)
            .map(value)
            .sum::<f64>()
            * 1e3
    };
    let bars = (0..run.client_count())
        .map(|client| BarGroup {
            label: client.to_string(),
            parts: vec![
                total(client, |row| row.compute_j),
                total(client, |row| row.radio_j),
            ],
            reference: Some(total(client, |row| row.harvest_j)),
        })
        .collect();
    let chart = BarChart {
        title: "Energy per client".to_owned(),
        x_label: "client".to_owned(),
        y_label: "energy (mJ)".to_owned(),
        parts: vec!["computing".to_owned(), "sending".to_owned()],
        reference: "harvested".to_owned(),
        bars,
        note: String::new(),
    };
    Chart {
        name: "client_energy",
        svg: chart.render(),
        caption: "Totals over the run. A bar above its dashed mark has spent more than its client \
                  harvested: C5 fails for it."
            .to_owned(),
    }
}

fn client_work(run: &RunData) -> Chart {
    let times = participations(&run.clients);
    let bars = times
        .iter()
        .enumerate()
        .map(|(client, times)| BarGroup {
            label: client.to_string(),
            parts: vec![*times],
            reference: None,
        })
        .collect();
    let chart = BarChart {
        title: "Rounds taken part in, per client".to_owned(),
        x_label: "client".to_owned(),
        y_label: "rounds".to_owned(),
        parts: vec!["rounds".to_owned()],
        reference: String::new(),
        bars,
        note: String::new(),
    };
    Chart {
        name: "client_rounds",
        svg: chart.render(),
        caption: format!(
            "How evenly work is spread; Jain's index is {:.2} (1 is even).",
            crate::run::jain(&times)
        ),
    }
}

impl RunData {
    fn trained(&self) -> impl Iterator<Item = &ClientRow> {
        self.clients
            .iter()
            .filter(|row| row.round > 0 && row.state == ClientState::Trained)
    }
}
