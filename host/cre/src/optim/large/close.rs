//! Closes a box by trying every set in it that could still beat the best plan.
//!
//! The prices u of channels and v of clients that solve the relaxed assignment say what it costs
//! at least to decide otherwise about a client: to take it in, its least reduced cost over
//! channels; to leave it out, -v. A set's bound is the box's bound plus the costs of all its
//! deviations, so only sets whose deviations cost less than what the box's bound lacks to the
//! best plan need a look; they are found depth first, cheapest deviation first.

use super::Search;
use super::layer::Layer;
use super::relax::{Relaxation, Sides};
use crate::bound::Sums;

/// A client about which a better plan may decide otherwise.
struct Deviation {
    column: usize,
    cost: f64,
    /// Whether the client is in the relaxed assignment.
    inside: bool,
}

/// Sums and bound of a set.
#[derive(Clone, Copy)]
struct Partial {
    /// Lower bound on the energy costs of the set.
    energy: f64,
    sums: Sums,
    count: usize,
}

impl Search<'_> {
    /// Tries every set of the box that may be better than the best plan. Returns false if there
    /// are too many of them.
    pub(super) fn close(&mut self, layer: &Layer, sides: &Sides, at: &Relaxation) -> bool {
        let again = self.relaxer.evaluate(layer, sides, at.prices);
        let budget = self.value - again.bound;
        let (base, mut deviations) = self.deviations(layer, &again, budget);
        deviations.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let mut columns: Vec<usize> = again.columns.iter().flatten().copied().collect();
        let mut left = self.effort.sets_per_box;
        self.try_set(layer, &columns, &base)
            && self.deviate(layer, &deviations, &mut columns, base, budget, &mut left)
    }

    fn deviations(&self, layer: &Layer, at: &Relaxation, budget: f64) -> (Partial, Vec<Deviation>) {
        let matcher = &self.relaxer.matcher;
        let (width, channels) = (layer.width(), self.table.channels());
        let inside: Vec<usize> = at.columns.iter().flatten().copied().collect();
        let mut base = Partial {
            energy: matcher.dual_value(),
            sums: layer.sums(self.table, &inside),
            count: inside.len(),
        };
        base.energy -= inside
            .iter()
            .map(|&column| self.relaxer.shift[column])
            .sum::<f64>();
        let mut found = Vec::new();
        for column in 0..width {
            let is_inside = inside.contains(&column);
            let price = matcher.column_price(column);
            let cost = if is_inside {
                -price
            } else {
                let reduced = (0..channels).map(|channel| {
                    layer.costs[channel * width + column] - matcher.row_price(channel)
                });
                reduced.fold(f64::INFINITY, f64::min) + self.relaxer.shift[column] - price
            };
            if cost < budget {
                found.push(Deviation {
                    column,
                    cost: cost.max(0.0),
                    inside: is_inside,
                });
            }
        }
        (base, found)
    }

    /// Tries all deviations from `columns` that fit the budget, in order of their cost.
    fn deviate(
        &mut self,
        layer: &Layer,
        deviations: &[Deviation],
        columns: &mut Vec<usize>,
        from: Partial,
        budget: f64,
        left: &mut usize,
    ) -> bool {
        for (at, deviation) in deviations.iter().enumerate() {
            if deviation.cost > budget {
                return true;
            }
            if *left == 0 {
                return false;
            }
            *left -= 1;
            let next = self.apply(layer, deviation, columns, from);
            let rest = &deviations[at + 1..];
            let complete = self.try_set(layer, columns, &next)
                && self.deviate(layer, rest, columns, next, budget - deviation.cost, left);
            if deviation.inside {
                columns.push(deviation.column);
            } else {
                columns.retain(|&column| column != deviation.column);
            }
            if !complete {
                return false;
            }
        }
        true
    }

    fn apply(
        &self,
        layer: &Layer,
        deviation: &Deviation,
        columns: &mut Vec<usize>,
        mut state: Partial,
    ) -> Partial {
        let share = self.table.shares[layer.clients[deviation.column]];
        let shift = self.relaxer.shift[deviation.column];
        state.energy += deviation.cost;
        if deviation.inside {
            columns.retain(|&column| column != deviation.column);
            state.sums = state.sums - share;
            state.energy += shift;
            state.count -= 1;
        } else {
            columns.push(deviation.column);
            state.sums = state.sums + share;
            state.energy -= shift;
            state.count += 1;
        }
        state
    }

    /// Takes a set as the best plan if it is; false if the work is spent.
    fn try_set(&mut self, layer: &Layer, columns: &[usize], state: &Partial) -> bool {
        if state.count == 0 || state.count > self.table.channels() {
            return true;
        }
        self.relaxer.matcher.cells += 50;
        let slack = 1e-13 * (state.energy.abs() + layer.gain.abs());
        if self
            .table
            .value(&state.sums, state.energy - slack, layer.tau)
            >= self.value
        {
            return true;
        }
        let work = (columns.len() * self.table.channels() * columns.len()) as u64;
        self.relaxer.matcher.cells += work;
        let (costs, pairs) = self.channels_of(layer, columns);
        if costs.is_finite() {
            let sums = layer.sums(self.table, columns);
            self.take(self.table.value(&sums, costs, layer.tau), pairs, layer.tau);
        }
        self.relaxer.matcher.cells <= self.effort.cells
    }
}

#[cfg(test)]
mod tests {
    use super::super::Effort;
    use super::super::fixture::{assignments, layers, rounds};
    use super::super::relax::Prices;
    use super::*;

    /// Closes the box of all sets of every layer; tells for each whether it was closed, and
    /// asserts that a closed one holds no better set than the one found.
    fn close_all(cells: u64, sets_per_box: usize) -> Vec<bool> {
        let mut closed = Vec::new();
        for (_, table) in rounds() {
            for layer in layers(&table) {
                let effort = Effort {
                    cells,
                    sets_per_box,
                };
                let mut search = Search::new(&table, effort);
                let sides = Sides {
                    w: (f64::MIN_POSITIVE, layer.w_most),
                    r: layer.mean_range,
                };
                let at = search.relaxer.evaluate(&layer, &sides, Prices::default());
                let done = search.close(&layer, &sides, &at);
                let all = assignments(&table, &layer);
                let least = all.iter().map(|set| set.value).fold(0.0, f64::min);
                let room = 1e-12 * least.abs();
                assert!(search.value >= least - room, "{} {least}", search.value);
                assert!(!done || search.value <= least + room);
                closed.push(done);
            }
        }
        closed
    }

    #[test]
    fn a_closed_box_holds_no_better_set() {
        assert!(close_all(u64::MAX, 1_000).iter().all(|&closed| closed));
    }

    #[test]
    fn with_little_to_spend_a_box_is_closed_only_where_that_proves_it() {
        for (cells, sets) in [(u64::MAX, 0), (u64::MAX, 3), (0, 1_000), (100, 1_000)] {
            assert!(close_all(cells, sets).contains(&false), "{cells} {sets}");
        }
    }
}
