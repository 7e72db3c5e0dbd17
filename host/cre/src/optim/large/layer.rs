//! The problem at one tau: possible participants, their costs, and the possible sums of sets.

use crate::bound::Sums;
use crate::optim::table::Table;

/// The problem at a fixed tau.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) tau: usize,
    /// Clients that can finish `tau` epochs; columns below are positions in this list.
    pub(super) clients: Vec<usize>,
    /// Energy costs, indexed `[channel][column]`.
    pub(super) costs: Vec<f64>,
    /// Weight w_i of each column.
    pub(super) w: Vec<f64>,
    /// w_i delta_i^2 of each column.
    pub(super) s: Vec<f64>,
    /// 2 V rho / beta (...) delta_i of each column: the weight of w~_i (1 - w~_i).
    pub(super) drift: Vec<f64>,
    /// V (convergence(tau) - F_gap).
    pub(super) gain: f64,
    /// Least and most of sum w_i delta_i^2 for a given sum w_i.
    reach: Reach,
    /// Least and most delta_i^2.
    pub(super) mean_range: (f64, f64),
    /// The most the largest `channels` weights sum up to.
    pub(super) w_most: f64,
}

impl Layer {
    pub(super) fn new(table: &Table, tau: usize) -> Self {
        let clients: Vec<usize> = (0..table.clients())
            .filter(|&i| table.client_limit(i) as usize >= tau)
            .collect();
        let mut costs = Vec::with_capacity(clients.len() * table.channels());
        for channel in 0..table.channels() {
            costs.extend(
                clients
                    .iter()
                    .map(|&client| table.cost(client, channel, tau)),
            );
        }
        let share = |&client: &usize| table.shares[client];
        let w: Vec<f64> = clients
            .iter()
            .map(|i| share(i).samples / table.total.samples)
            .collect();
        let s: Vec<f64> = clients.iter().map(|i| share(i).s).collect();
        let weight = 2.0 * table.drift[tau - 1];
        let drift = clients
            .iter()
            .zip(&w)
            .map(|(i, w)| weight * share(i).p / w)
            .collect();
        let mut heaviest = w.clone();
        heaviest.sort_by(|a, b| b.total_cmp(a));
        let w_most = heaviest.iter().take(table.channels()).sum::<f64>() * (1.0 + 1e-12);
        let reach = Reach::new(&w, &s);
        let means = || s.iter().zip(&w).map(|(s, w)| s / w);
        let mean_range = (
            means().fold(f64::INFINITY, f64::min) * (1.0 - 1e-12),
            means().fold(0.0, f64::max) * (1.0 + 1e-12),
        );
        let gain = table.gain[tau - 1];
        Self {
            tau,
            clients,
            costs,
            w,
            s,
            drift,
            gain,
            reach,
            mean_range,
            w_most,
        }
    }

    /// Returns the number of clients that can take part.
    pub(super) const fn width(&self) -> usize {
        self.clients.len()
    }

    /// Returns the least sum w_i delta_i^2 of any set with that sum w_i, or less.
    pub(super) fn s_least(&self, w: f64) -> f64 {
        self.reach.least(w)
    }

    /// Returns the most sum w_i delta_i^2 of any set with that sum w_i, or more.
    pub(super) fn s_most(&self, w: f64) -> f64 {
        self.reach.most(w)
    }

    /// Returns a cheap lower bound on every set at this tau: each channel on its own, and the loss
    /// bound as if all clients took part.
    pub(super) fn quick_bound(&self) -> f64 {
        if self.clients.is_empty() {
            return f64::INFINITY;
        }
        let energy: f64 = self
            .costs
            .chunks(self.width())
            .map(|row| row.iter().copied().fold(0.0, f64::min))
            .sum();
        energy + self.gain
    }

    /// Returns the sums of a set of columns.
    pub(super) fn sums(&self, table: &Table, columns: &[usize]) -> Sums {
        columns.iter().fold(Sums::default(), |sums, &column| {
            sums + table.shares[self.clients[column]]
        })
    }
}

/// The fractional knapsack over clients sorted by delta^2: which sums of w_i delta_i^2 go with a
/// sum of w_i. Relaxing "whole clients" to fractions only widens the range.
#[derive(Clone, Debug)]
struct Reach {
    /// (sum w, sum w delta^2) after each client, by rising delta^2.
    rising: Vec<(f64, f64)>,
    /// The same by falling delta^2.
    falling: Vec<(f64, f64)>,
}

impl Reach {
    fn new(w: &[f64], s: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..w.len()).collect();
        order.sort_by(|&a, &b| (s[a] / w[a]).total_cmp(&(s[b] / w[b])));
        let sum_up = |order: &mut dyn Iterator<Item = usize>| {
            let mut points = vec![(0.0, 0.0)];
            let (mut x, mut y) = (0.0, 0.0);
            for i in order {
                (x, y) = (x + w[i], y + s[i]);
                points.push((x, y));
            }
            points
        };
        let rising = sum_up(&mut order.iter().copied());
        let falling = sum_up(&mut order.iter().rev().copied());
        Self { rising, falling }
    }

    fn least(&self, w: f64) -> f64 {
        interpolate(&self.rising, w) * (1.0 - 1e-12)
    }

    fn most(&self, w: f64) -> f64 {
        interpolate(&self.falling, w) * (1.0 + 1e-12)
    }
}

fn interpolate(points: &[(f64, f64)], x: f64) -> f64 {
    let after = points.partition_point(|point| point.0 <= x);
    match (points.get(after.wrapping_sub(1)), points.get(after)) {
        (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0),
        (Some(a), None) => a.1,
        (None, _) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{assignments, layers, rounds};

    #[test]
    fn a_layer_holds_who_can_finish_and_at_what_cost() {
        for (_, table) in rounds() {
            for layer in layers(&table) {
                let able = |&i: &usize| table.client_limit(i) as usize >= layer.tau;
                assert!(layer.clients.iter().all(able));
                let outside = (0..table.clients()).filter(|i| !layer.clients.contains(i));
                assert!(!outside.into_iter().any(|i| able(&i)));
                for (column, &client) in layer.clients.iter().enumerate() {
                    for channel in 0..table.channels() {
                        let cost = layer.costs[channel * layer.width() + column];
                        assert_eq!(cost, table.cost(client, channel, layer.tau));
                    }
                }
            }
        }
    }

    #[test]
    fn the_quick_bound_is_below_every_assignment() {
        for (_, table) in rounds() {
            for layer in layers(&table) {
                let bound = layer.quick_bound();
                for assigned in assignments(&table, &layer) {
                    assert!(bound <= assigned.value + 1e-12 * bound.abs());
                }
            }
        }
    }

    #[test]
    fn reachable_sums_enclose_those_of_every_assignment() {
        for (_, table) in rounds() {
            for layer in layers(&table) {
                for assigned in assignments(&table, &layer) {
                    let (w, s) = assigned.point;
                    assert!(w <= layer.w_most);
                    assert!(layer.s_least(w) <= s && s <= layer.s_most(w), "{w} {s}");
                    let (least, most) = layer.mean_range;
                    assert!(least <= s / w && s / w <= most);
                }
            }
        }
    }
}
