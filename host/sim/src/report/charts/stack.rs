//! Energy stack: energy per round by phase over bins of rounds, of all clients and of each.

use std::collections::BTreeSet;

use gleaner_shared::energy::Phase;

use super::Chart;
use crate::report::data::RunData;
use crate::report::plot::{StackGrid, StackRow};
use crate::report::text::counted;

/// Most bars of a panel, without that of round 0.
const BINS: u32 = 20;
/// Most clients with panels of their own.
const CLIENTS: usize = 12;

/// Last part of the stack: sleep, and the receiving of clients without an order.
const RESTING: &str = "sleep and beacon";

/// A client's energy of each phase in one round, in millijoules.
struct Cell {
    round: u32,
    client: usize,
    parts: Vec<f64>,
}

/// Draws the stack of all clients together, and one for each client.
pub(super) fn charts(run: &RunData) -> Vec<Chart> {
    let cells = cells(run);
    let is_shown = |part: &usize| cells.iter().any(|cell| cell.parts[*part] > 0.0);
    let names = names(run);
    let shown: Vec<usize> = (0..names.len()).filter(is_shown).collect();
    let is_order = |part: &usize| names[*part] != RESTING;
    let orders: Vec<usize> = shown.iter().copied().filter(is_order).collect();
    let columns = match orders.len() < shown.len() {
        true => vec![
            ("all phases".to_owned(), shown),
            ("orders alone".to_owned(), orders.clone()),
        ],
        false => vec![(String::new(), shown)],
    };
    let bins = Bins::new(run);
    let grid = |title: &str, rows| StackGrid {
        title: title.to_owned(),
        x_label: "first round of each bar".to_owned(),
        y_label: "energy per round (mJ)".to_owned(),
        parts: names.iter().map(ToString::to_string).collect(),
        columns: columns.clone(),
        bins: bins.labels(),
        rows,
    };
    let row = |name: String, of: &dyn Fn(&Cell) -> bool| StackRow {
        name,
        bars: bins.means(cells.iter().filter(|cell| of(cell)), names.len()),
    };
    let mut spent = vec![0.0; run.client_count()];
    for cell in &cells {
        if let Some(sum) = spent.get_mut(cell.client) {
            *sum += orders.iter().map(|&part| cell.parts[part]).sum::<f64>();
        }
    }
    let mut clients: Vec<usize> = (0..spent.len()).collect();
    clients.sort_by(|&a, &b| spent[b].total_cmp(&spent[a]));
    let clients: BTreeSet<usize> = clients.into_iter().take(CLIENTS).collect();
    let each = clients.iter();
    let each = each.map(|&it| row(format!("client {it}"), &|cell| cell.client == it));
    let mut caption = "The same for each client, all on one scale.".to_owned();
    if run.client_count() > CLIENTS {
        caption = format!(
            "The same for the {} that spent most on orders, all on one scale.",
            counted(CLIENTS, "client")
        );
    }
    let total = row(String::new(), &|_| true);
    vec![
        Chart {
            name: "energy_stack",
            svg: grid("Energy by phase over the rounds, all clients", vec![total]).render(),
            caption: format!(
                "What all clients together spent per round, as the mean over {}. Sleep, and the beacon \
                 that clients without an order listen to, are due in any round; where a run prices them, \
                 the right side shows orders alone. Round 0, where there is one, has a bar of its own.",
                match bins.width {
                    1 => "one round a bar".to_owned(),
                    width => format!("the {width} rounds of a bar"),
                }
            ),
        },
        Chart {
            name: "energy_stack_clients",
            svg: grid(
                "Energy by phase over the rounds, client by client",
                each.collect(),
            )
            .render(),
            caption,
        },
    ]
}

/// Returns the names of the parts, lowest first.
fn names(run: &RunData) -> Vec<&'static str> {
    match run.energy.is_empty() {
        true => vec!["compute", "transmit"],
        false => Phase::IN_TIME
            .map(|phase| match phase {
                Phase::Sleep => RESTING,
                phase => phase.name(),
            })
            .to_vec(),
    }
}

fn cells(run: &RunData) -> Vec<Cell> {
    if run.energy.is_empty() {
        let rows = run.clients.iter().map(|row| Cell {
            round: row.round,
            client: row.client.index(),
            parts: vec![1e3 * row.compute_j, 1e3 * row.radio_j],
        });
        return rows.collect();
    }
    let rows = run.energy.iter().map(|row| {
        let spent = row.record().spent;
        let resting = if row.has_order() { 0 } else { row.receive_pj };
        let pj = |phase| match phase {
            Phase::Sleep => row.sleep_pj.saturating_add(resting),
            Phase::Receive => row.receive_pj - resting,
            phase => spent.of(phase).0,
        };
        Cell {
            round: row.round,
            client: row.client.index(),
            parts: Phase::IN_TIME.map(|it| 1e-9 * pj(it) as f64).to_vec(),
        }
    });
    rows.collect()
}

/// Bins of equal width from round 1 on, and one of round 0.
struct Bins {
    width: u32,
    rounds: u32,
    introduction: bool,
}

impl Bins {
    fn new(run: &RunData) -> Self {
        let rounds = u32::try_from(run.rounds_done()).unwrap_or(u32::MAX);
        Self {
            width: rounds.div_ceil(BINS).max(1),
            rounds,
            introduction: run.rounds.first().is_some_and(|row| row.round == 0),
        }
    }

    /// Returns the first and last round of each bin.
    fn ends(&self) -> Vec<(u32, u32)> {
        let introduction = self.introduction.then_some((0, 0));
        let later = (0..self.rounds.div_ceil(self.width)).map(|bin| {
            let first = bin * self.width;
            (first + 1, (first + self.width).min(self.rounds))
        });
        introduction.into_iter().chain(later).collect()
    }

    fn labels(&self) -> Vec<(String, String)> {
        let label = |(first, last): (u32, u32)| match first == last {
            true => (first.to_string(), format!("round {first}")),
            false => (first.to_string(), format!("rounds {first} to {last}")),
        };
        self.ends().into_iter().map(label).collect()
    }

    /// Returns the mean per round of each part in each bin.
    fn means<'a>(&self, cells: impl Iterator<Item = &'a Cell>, parts: usize) -> Vec<Vec<f64>> {
        let ends = self.ends();
        let mut bars = vec![vec![0.0; parts]; ends.len()];
        let shift = usize::from(self.introduction);
        for cell in cells {
            let at = match cell.round {
                0 => 0,
                round => shift + ((round - 1) / self.width) as usize,
            };
            if let (Some(bar), Some((first, last))) = (bars.get_mut(at), ends.get(at)) {
                for (sum, part) in bar.iter_mut().zip(&cell.parts) {
                    *sum += part / f64::from(last - first + 1);
                }
            }
        }
        bars
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_every_round_once_and_hold_means() {
        let bins = Bins {
            width: 3,
            rounds: 7,
            introduction: true,
        };
        assert_eq!(bins.ends(), [(0, 0), (1, 3), (4, 6), (7, 7)]);
        assert_eq!(
            bins.labels()[1],
            ("1".to_owned(), "rounds 1 to 3".to_owned())
        );
        let cells: Vec<Cell> = (0..=7)
            .map(|round| Cell {
                round,
                client: 0,
                parts: vec![f64::from(round)],
            })
            .collect();
        let means = bins.means(cells.iter(), 1);
        assert_eq!(means, [[0.0], [2.0], [5.0], [7.0]]);
    }
}
