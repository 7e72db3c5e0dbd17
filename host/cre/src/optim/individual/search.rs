//! Exact search over every set of clients and every T; channels and epochs follow by an assignment.

use super::{IndividualPlan, Task};
use crate::bound::{IndividualDrift, Sums, participation_weights};
use crate::optim::power::best_power;
use crate::optim::table::Table;
use crate::optim::{Instance, Upload};

/// The cheapest epochs of a client on a channel.
#[derive(Clone, Copy, Debug)]
struct Way {
    cost: f64,
    channel: usize,
    epochs: u32,
    /// Whether the client trains for T epochs or more.
    long: bool,
}

/// The cheapest assignment of the clients so far to a set of channels: the previous state and the
/// choice of the last client.
#[derive(Clone, Copy, Debug)]
struct State {
    cost: f64,
    last: Option<(usize, Way)>,
}

const UNREACHED: State = State {
    cost: f64::INFINITY,
    last: None,
};

pub(super) struct Search<'a> {
    instance: &'a Instance,
    table: &'a Table,
    set: Vec<usize>,
    /// J - J(nobody) of the best plan so far, at first the empty plan.
    value: f64,
    best: IndividualPlan,
}

impl<'a> Search<'a> {
    pub(super) fn new(instance: &'a Instance, table: &'a Table) -> Self {
        Self {
            instance,
            table,
            set: Vec::new(),
            value: 0.0,
            best: IndividualPlan::default(),
        }
    }

    pub(super) fn run(mut self) -> IndividualPlan {
        self.extend(0, Sums::default());
        self.best
    }

    /// Tries every set that extends the current one by clients from `first` on.
    fn extend(&mut self, first: usize, sums: Sums) {
        if self.set.len() == self.table.channels() {
            return;
        }
        for client in first..self.table.clients() {
            if self.table.client_limit(client) == 0 {
                continue;
            }
            let sums = sums + self.table.shares[client];
            self.set.push(client);
            self.try_set(&sums);
            self.extend(client + 1, sums);
            self.set.pop();
        }
    }

    fn try_set(&mut self, sums: &Sums) {
        let Instance {
            bound,
            samples,
            delta,
            ..
        } = self.instance;
        let drift = IndividualDrift::of(bound, samples, delta, &self.set);
        let part = participation_weights(samples, &self.set);
        let (_, weighted_a3) = self.table.set_terms(sums);
        let limits = self
            .set
            .iter()
            .map(|&client| self.table.client_limit(client));
        for steps in 1..=limits.max().unwrap_or(0) {
            let rest = f64::from(steps) * weighted_a3 + self.table.gain[steps as usize - 1];
            let states = self.assign(|client, epochs| {
                let apart = drift.of_client(part[client], delta[client], epochs, steps);
                (self.instance.v * apart, epochs >= steps)
            });
            let Some((at, cost)) = cheapest(&states) else {
                continue;
            };
            if cost + rest < self.value {
                self.value = cost + rest;
                self.best = self.plan(&states, at, steps);
            }
        }
    }

    /// Assigns the set to channels client by client: after each, one state for every set of channels,
    /// with and without a participant of T epochs or more. `apart` returns the contribution of a
    /// client's epochs to V times the bound, and whether they are T or more.
    fn assign(&self, apart: impl Fn(usize, u32) -> (f64, bool)) -> Vec<Vec<State>> {
        let width = 2usize << self.table.channels();
        let mut states = vec![UNREACHED; width];
        states[0].cost = 0.0;
        let mut layers = vec![states];
        for &client in &self.set {
            let ways = self.ways(client, &apart);
            let before = &layers[layers.len() - 1];
            let mut after = vec![UNREACHED; width];
            for (at, from) in before
                .iter()
                .enumerate()
                .filter(|(_, it)| it.cost.is_finite())
            {
                for way in ways.iter().filter(|way| at >> (way.channel + 1) & 1 == 0) {
                    let to = at | 2 << way.channel | usize::from(way.long);
                    let cost = from.cost + way.cost;
                    if cost < after[to].cost {
                        let last = Some((at, *way));
                        after[to] = State { cost, last };
                    }
                }
            }
            layers.push(after);
        }
        layers
    }

    /// Returns the cheapest epochs of a client on each channel, below T and from T on.
    fn ways(&self, client: usize, apart: impl Fn(usize, u32) -> (f64, bool)) -> Vec<Way> {
        let epochs = 1..=self.table.client_limit(client);
        let added: Vec<(u32, f64, bool)> = epochs
            .map(|epochs| {
                let (cost, long) = apart(client, epochs);
                (epochs, cost, long)
            })
            .collect();
        let mut ways = Vec::new();
        for channel in 0..self.table.channels() {
            let row = self.table.row(client, channel);
            for kind in [false, true] {
                let costs = added.iter().zip(row);
                let best = costs
                    .filter(|((_, _, long), _)| *long == kind)
                    .map(|((epochs, apart, _), energy)| (apart + energy, *epochs))
                    .min_by(|a, b| a.0.total_cmp(&b.0));
                if let Some((cost, epochs)) = best.filter(|(cost, _)| cost.is_finite()) {
                    ways.push(Way {
                        cost,
                        channel,
                        epochs,
                        long: kind,
                    });
                }
            }
        }
        ways
    }

    /// Follows the states back to the plan that leads to one of them.
    fn plan(&self, layers: &[Vec<State>], at: usize, steps: u32) -> IndividualPlan {
        let mut at = at;
        let mut tasks = Vec::with_capacity(self.set.len());
        for (&client, states) in self.set.iter().zip(&layers[1..]).rev() {
            let Some((before, way)) = states[at].last else {
                continue;
            };
            let (channel, epochs) = (way.channel, way.epochs);
            let choice = best_power(self.instance, client, channel, f64::from(epochs));
            tasks.push(Task {
                upload: Upload {
                    client,
                    channel,
                    power_w: choice.power_w,
                },
                epochs,
            });
            at = before;
        }
        tasks.reverse();
        IndividualPlan { steps, tasks }
    }
}

/// Returns the cheapest state in which a participant trains for T epochs or more.
fn cheapest(layers: &[Vec<State>]) -> Option<(usize, f64)> {
    let states = layers.last()?.iter().map(|state| state.cost).enumerate();
    states
        .filter(|(at, cost)| at & 1 == 1 && cost.is_finite())
        .min_by(|a, b| a.1.total_cmp(&b.1))
}
