//! Charts of each client's energy by phase and of its store.

use std::collections::BTreeMap;

use gleaner_shared::energy::{Phase, RoundRecord};

use super::{Chart, per_round};
use crate::report::data::RunData;
use crate::report::plot::{BarChart, BarGroup, Mark, Series};
use crate::round::EnergyRow;

/// Beyond so many clients a line each says nothing.
const LINES: usize = 8;

/// Draws the split of every client's energy, and the stores where there are any.
pub(super) fn charts(run: &RunData) -> Vec<Chart> {
    if run.energy.is_empty() {
        return Vec::new();
    }
    let stores = run.energy.iter().any(|row| row.stored_pj.is_some());
    [Some(split(run)), stores.then(|| store_curves(run))]
        .into_iter()
        .flatten()
        .collect()
}

fn split(run: &RunData) -> Chart {
    let mut sums = vec![[0.0; Phase::COUNT + 1]; run.client_count()];
    let mut harvested = vec![0.0; run.client_count()];
    for row in &run.energy {
        let Some(sum) = sums.get_mut(row.client.index()) else {
            continue;
        };
        let RoundRecord {
            conversion,
            overflow,
            leaked,
            spent,
            harvested: income,
        } = row.record();
        for (phase, sum) in Phase::IN_TIME.into_iter().zip(sum.iter_mut()) {
            *sum += 1e3 * spent.of(phase).as_joules();
        }
        let lost = [conversion, overflow, leaked].map(|amount| amount.as_joules());
        sum[Phase::COUNT] += 1e3 * lost.iter().sum::<f64>();
        harvested[row.client.index()] += 1e3 * income.as_joules();
    }
    let bars = sums.iter().zip(harvested).enumerate();
    let names = Phase::IN_TIME.map(|phase| phase.name().to_owned());
    let chart = BarChart {
        title: "Energy of every client by phase".to_owned(),
        x_label: "client".to_owned(),
        y_label: "energy (mJ)".to_owned(),
        parts: [&names[..], &["lost".to_owned()]].concat(),
        reference: "harvest".to_owned(),
        bars: bars
            .map(|(client, (parts, harvested))| BarGroup {
                label: client.to_string(),
                parts: parts.to_vec(),
                reference: Some(harvested),
            })
            .collect(),
        note: String::new(),
    };
    Chart {
        name: "phases",
        svg: chart.render(),
        caption:
            "What every client spent in the whole run, by what it did, and what its store lost \
                  in charging, to being full and by leaking; the line is what it harvested."
                .to_owned(),
    }
}

fn store_curves(run: &RunData) -> Chart {
    let stored = |row: &EnergyRow| Some((row.round, 1e-9 * row.stored_pj? as f64));
    let series = if run.client_count() <= LINES {
        let line = |client: usize| {
            let rows = run.energy.iter().filter(|row| row.client.index() == client);
            let points = rows.filter_map(stored);
            let points = points.map(|(round, mj)| (f64::from(round), mj)).collect();
            Series::line(format!("client {client}"), client, points)
        };
        (0..run.client_count()).map(line).collect()
    } else {
        let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (round, mj) in run.energy.iter().filter_map(stored) {
            rounds.entry(round).or_default().push(mj);
        }
        let mean = |held: &[f64]| held.iter().sum::<f64>() / held.len() as f64;
        let least = |held: &[f64]| held.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |held: &[f64]| held.iter().copied().fold(0.0, f64::max);
        let line = rounds.iter();
        let points = line
            .map(|(&at, held)| (f64::from(at), mean(held)))
            .collect();
        let lowest = rounds.iter();
        let lowest = lowest.map(|(&at, held)| (f64::from(at), least(held)));
        let band = rounds.iter();
        let band = band.map(|(&at, held)| (f64::from(at), least(held), most(held)));
        vec![
            Series::line("mean of all clients", 0, points).with_band(band.collect()),
            Series::line("emptiest store", 1, lowest.collect()).with_mark(Mark::Dashed),
        ]
    };
    let chart = per_round("Stores", "stored (mJ)", true, series);
    Chart {
        name: "stores",
        svg: chart.render(),
        caption: "What the clients' stores hold after each round. What is not in them cannot be \
                  spent: an order that a store cannot pay for is declined."
            .to_owned(),
    }
}
