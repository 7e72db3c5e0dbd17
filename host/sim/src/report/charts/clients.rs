//! Charts of each client: queue, epochs and energy.

use super::{Chart, per_round};
use crate::report::data::RunData;
use crate::report::plot::{BarChart, BarGroup, HeatMap, Series};
use crate::round::ClientRow;

/// Up to here every client's queue has a line of its own.
const MOST_QUEUE_LINES: usize = 10;

pub(super) fn queues(run: &RunData) -> Chart {
    let of_client = |client: usize| -> Vec<(f64, f64)> {
        run.clients
            .iter()
            .filter(|row| row.client.index() == client && row.round > 0)
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

pub(super) fn schedule(run: &RunData) -> Chart {
    let mut cells = vec![vec![None; run.rounds_done()]; run.client_count()];
    for row in run.trained() {
        cells[row.client.index()][row.round as usize - 1] = Some(f64::from(row.epochs));
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

pub(super) fn energy(run: &RunData) -> Chart {
    let total = |client: usize, value: fn(&ClientRow) -> f64| -> f64 {
        run.clients
            .iter()
            .filter(|row| row.client.index() == client)
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
        parts: vec!["compute".to_owned(), "radio".to_owned()],
        reference: "harvest".to_owned(),
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

pub(super) fn work(run: &RunData) -> Chart {
    let times = run.tally.participations();
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
            run.tally.summary().fairness
        ),
    }
}
