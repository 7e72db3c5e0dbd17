//! Local search around an assignment at fixed tau: replace, add, remove and rematch.

use super::layer::Layer;
use crate::bound::Sums;
use crate::optim::exact::cheapest_channels;
use crate::optim::inner::Pair;
use crate::optim::table::Table;

/// Passes over all moves; most searches end after two.
const MAX_PASSES: usize = 20;

/// An assignment under improvement.
pub(super) struct State<'a> {
    table: &'a Table,
    layer: &'a Layer,
    /// Column of each channel.
    columns: Vec<Option<usize>>,
    taken: Vec<bool>,
    sums: Sums,
    costs: f64,
    value: f64,
}

impl<'a> State<'a> {
    pub(super) fn new(table: &'a Table, layer: &'a Layer, columns: &[Option<usize>]) -> Self {
        let mut state = Self {
            table,
            layer,
            columns: columns.to_vec(),
            taken: vec![false; layer.width()],
            sums: Sums::default(),
            costs: 0.0,
            value: 0.0,
        };
        state.recount();
        state
    }

    /// Makes the best moves until none helps; returns the passes over all moves.
    pub(super) fn polish(&mut self) -> usize {
        for pass in 1..=MAX_PASSES {
            if !self.improve() {
                return pass;
            }
            self.match_anew();
        }
        MAX_PASSES
    }

    /// Returns J - J(nobody).
    pub(super) const fn value(&self) -> f64 {
        self.value
    }

    fn recount(&mut self) {
        self.taken.fill(false);
        (self.sums, self.costs) = (Sums::default(), 0.0);
        for (channel, column) in self.columns.iter().enumerate() {
            if let &Some(column) = column {
                self.taken[column] = true;
                self.sums = self.sums + self.share(Some(column));
                self.costs += self.cost(channel, Some(column));
            }
        }
        self.value = self.value_of(&self.sums, self.costs);
    }

    fn share(&self, column: Option<usize>) -> Sums {
        column.map_or_else(Sums::default, |column| {
            self.table.shares[self.layer.clients[column]]
        })
    }

    fn cost(&self, channel: usize, column: Option<usize>) -> f64 {
        column.map_or(0.0, |column| {
            self.layer.costs[channel * self.layer.width() + column]
        })
    }

    fn value_of(&self, sums: &Sums, costs: f64) -> f64 {
        if sums.samples > 0.0 {
            self.table.value(sums, costs, self.layer.tau)
        } else {
            0.0
        }
    }

    /// Makes the best single change on each channel in turn; tells whether any helped.
    fn improve(&mut self) -> bool {
        let before = self.value;
        for channel in 0..self.columns.len() {
            let old = self.columns[channel];
            let sums = self.sums - self.share(old);
            let costs = self.costs - self.cost(channel, old);
            let free = (0..self.layer.width())
                .filter(|&column| !self.taken[column])
                .map(Some);
            let (mut best, mut value) = (old, self.value);
            for new in free.chain([None]) {
                let candidate =
                    self.value_of(&(sums + self.share(new)), costs + self.cost(channel, new));
                if candidate < value - 1e-12 * value.abs() {
                    (best, value) = (new, candidate);
                }
            }
            if best != old {
                self.columns[channel] = best;
                self.recount();
            }
        }
        self.value < before
    }

    /// Puts the same clients on their cheapest channels.
    fn match_anew(&mut self) {
        let chosen: Vec<usize> = self.columns.iter().flatten().copied().collect();
        let clients: Vec<usize> = chosen
            .iter()
            .map(|&column| self.layer.clients[column])
            .collect();
        let pairs = cheapest_channels(self.table, &clients, self.layer.tau);
        let (old, before) = (self.columns.clone(), self.value);
        self.columns.fill(None);
        for pair in pairs {
            let at = clients.iter().position(|&client| client == pair.client);
            self.columns[pair.channel] = at.map(|at| chosen[at]);
        }
        self.recount();
        if self.value > before {
            self.columns = old;
            self.recount();
        }
    }

    /// Returns the column of each channel.
    pub(super) fn pairs(&self) -> Vec<Pair> {
        let chosen = self.columns.iter().enumerate();
        chosen
            .filter_map(|(channel, &column)| {
                Some(Pair {
                    client: self.layer.clients[column?],
                    channel,
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{assignments, layers, rounds};
    use super::*;

    #[test]
    fn polishing_never_makes_a_plan_worse_and_ends_where_no_move_helps() {
        for (_, table) in rounds() {
            for layer in layers(&table) {
                let all = assignments(&table, &layer);
                for start in &all {
                    let mut state = State::new(&table, &layer, &start.columns);
                    assert_eq!(state.value(), start.value);
                    state.polish();
                    assert!(state.value() <= start.value);
                    assert!(!state.improve());
                }
            }
        }
    }

    #[test]
    fn what_is_polished_is_an_assignment_with_the_value_it_claims() {
        for (_, table) in rounds() {
            for layer in layers(&table) {
                let all = assignments(&table, &layer);
                let mut state = State::new(&table, &layer, &all[0].columns);
                state.polish();
                let pairs = state.pairs();
                if pairs.is_empty() {
                    assert_eq!(state.value(), 0.0, "nobody is left");
                    continue;
                }
                let same = all
                    .iter()
                    .find(|assigned| assigned.columns == state.columns);
                let value = same.expect("feasible").value;
                assert!((state.value() - value).abs() <= 1e-12 * value.abs());
                for pair in pairs {
                    let column = state.columns[pair.channel].expect("taken");
                    assert_eq!(layer.clients[column], pair.client);
                }
            }
        }
    }

    #[test]
    fn matching_anew_keeps_the_clients_and_takes_their_cheapest_channels() {
        for (_, table) in rounds() {
            for layer in layers(&table) {
                let all = assignments(&table, &layer);
                for start in &all {
                    let clients = |columns: &[Option<usize>]| {
                        let mut clients: Vec<usize> = columns.iter().flatten().copied().collect();
                        clients.sort_unstable();
                        clients
                    };
                    let mut state = State::new(&table, &layer, &start.columns);
                    state.match_anew();
                    let set = clients(&start.columns);
                    assert_eq!(clients(&state.columns), set);
                    let best = all
                        .iter()
                        .filter(|other| clients(&other.columns) == set)
                        .map(|other| other.value)
                        .fold(f64::INFINITY, f64::min);
                    assert!((state.value() - best).abs() <= 1e-12 * best.abs());
                }
            }
        }
    }
}
