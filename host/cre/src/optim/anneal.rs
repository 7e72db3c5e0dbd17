//! Simulated annealing over assignments: Algorithm 2 of the paper, repaired.
//!
//! Deviations from the printed text: a worse assignment is accepted with exp(-(J' - J)/T) (the
//! printed sign accepts everything), the moves add, remove, replace and swap keep C1 to C3 (the
//! printed ones break C2 and need two steps for a replacement), the inner problem is solved
//! exactly, and nobody taking part is the start. What the paper leaves open: T starts at the
//! spread of J over single clients and falls by [`DECAY`] a step.

use gleaner_shared::rng::{Purpose, Rng};

use super::inner::{self, Pair};
use super::table::Table;
use super::{Instance, Plan, evaluate, nobody_objective};
use crate::bound::Sums;

/// Number of moves per walk.
const STEPS: u32 = 1000;
/// Factor of the temperature per step.
const DECAY: f64 = 0.995;

/// Returns the best plan seen on one walk.
pub(crate) fn solve(instance: &Instance, seed: u64) -> Plan {
    let table = Table::new(instance);
    let judge = Judge {
        instance,
        table: table.as_ref(),
    };
    let mut rng = Rng::stream(seed, Purpose::Solver, 0, 0);
    let mut temperature = judge.spread();
    let mut state = Assignment::empty(instance);
    let mut value = 0.0;
    let mut best = (value, state.clone());
    for _ in 0..STEPS {
        let mut next = state.clone();
        next.mutate(&mut rng);
        let next_value = judge.value(&next.pairs());
        let rise = next_value - value;
        if rise < 0.0 || rng.uniform() < libm::exp(-rise / temperature) {
            (state, value) = (next, next_value);
            if value < best.0 {
                best = (value, state.clone());
            }
        }
        temperature *= DECAY;
    }
    judge.plan(&best.1.pairs())
}

/// The client on each channel.
#[derive(Clone, Debug)]
struct Assignment {
    clients: u32,
    client_of: Vec<Option<usize>>,
}

impl Assignment {
    fn empty(instance: &Instance) -> Self {
        let clients = u32::try_from(instance.clients()).unwrap_or(u32::MAX);
        Self {
            clients,
            client_of: vec![None; instance.channels],
        }
    }

    /// Makes one of the four moves on a random channel.
    fn mutate(&mut self, rng: &mut Rng) {
        let channels = u32::try_from(self.client_of.len()).unwrap_or(u32::MAX);
        let channel = rng.below(channels) as usize;
        match rng.below(4) {
            0 => self.client_of[channel] = None,
            1 => self.client_of.swap(channel, rng.below(channels) as usize),
            // On a free channel this adds, on a taken one it replaces.
            _ => {
                let client = rng.below(self.clients) as usize;
                if !self.client_of.contains(&Some(client)) {
                    self.client_of[channel] = Some(client);
                }
            }
        }
    }

    fn pairs(&self) -> Vec<Pair> {
        let channels = self.client_of.iter().enumerate();
        channels
            .filter_map(|(channel, &client)| {
                Some(Pair {
                    client: client?,
                    channel,
                })
            })
            .collect()
    }
}

/// Evaluates assignments, by the table where there is one.
struct Judge<'a> {
    instance: &'a Instance,
    table: Option<&'a Table>,
}

impl Judge<'_> {
    /// Returns J - J(nobody) at the best epochs and powers; infinite if infeasible.
    fn value(&self, pairs: &[Pair]) -> f64 {
        match self.table {
            _ if pairs.is_empty() => 0.0,
            Some(table) => best_epochs(table, pairs).0,
            None => inner::solve(self.instance, pairs).map_or(f64::INFINITY, |plan| {
                evaluate(self.instance, &plan).total - nobody_objective(self.instance)
            }),
        }
    }

    fn plan(&self, pairs: &[Pair]) -> Plan {
        match self.table {
            _ if pairs.is_empty() => Plan::nobody(),
            Some(table) => inner::plan_at(self.instance, pairs, best_epochs(table, pairs).1 as u32),
            None => inner::solve(self.instance, pairs).unwrap_or_else(Plan::nobody),
        }
    }

    /// Returns the spread of J over single clients, each on its best channel, and nobody.
    fn spread(&self) -> f64 {
        let (mut low, mut high) = (0.0f64, 0.0f64);
        for client in 0..self.instance.clients() {
            let values = (0..self.instance.channels)
                .map(|channel| self.value(&[Pair { client, channel }]))
                .fold(f64::INFINITY, f64::min);
            if values.is_finite() {
                (low, high) = (low.min(values), high.max(values));
            }
        }
        // Without a feasible or a different value the temperature does not matter.
        if high > low { high - low } else { 1.0 }
    }
}

/// Returns the least J - J(nobody) of an assignment over tau, and that tau.
fn best_epochs(table: &Table, pairs: &[Pair]) -> (f64, usize) {
    let sums = pairs.iter().fold(Sums::default(), |sums, pair| {
        sums + table.shares[pair.client]
    });
    let (a1, va3) = table.set_terms(&sums);
    let mut best = (f64::INFINITY, 0);
    for tau in 1..=table.epochs() {
        let costs: f64 = pairs
            .iter()
            .map(|p| table.cost(p.client, p.channel, tau))
            .sum();
        if costs == f64::INFINITY {
            break; // No longer tau is feasible either.
        }
        let value = costs + table.drift[tau - 1] * a1 + tau as f64 * va3 + table.gain[tau - 1];
        if value < best.0 {
            best = (value, tau);
        }
    }
    best
}
