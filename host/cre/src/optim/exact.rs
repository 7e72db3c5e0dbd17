//! The exact solver: enumerates every set of clients and every tau, with the best channels for each.
//!
//! Sets are visited depth first. Along a branch the cheapest way to put the set on each choice of
//! channels is carried for all tau at once (rows of the [`Table`] are contiguous in tau), and the
//! bound enters through the four sums, so a set costs a few additions per tau.

use super::assignment::Matcher;
use super::inner::{self, Pair, plan_at};
use super::table::Table;
use super::{Instance, Plan, evaluate, nobody_objective};
use crate::bound::Sums;

/// Largest enumeration in row operations, about a second.
const MAX_ROW_OPERATIONS: f64 = 3e7;
/// Largest enumeration that is faster than a search by bounds; U = 30 on C = 3 is larger.
const QUICK_ROW_OPERATIONS: f64 = 1e4;

/// Estimates the row operations of an enumeration: for each set of k clients, k ways in for each
/// of the choices of k channels.
pub(crate) fn enumeration_work(clients: usize, channels: usize) -> f64 {
    let (mut sets, mut choices, mut work) = (1.0, 1.0, 0.0);
    for k in 1..=clients.min(channels) {
        sets *= (clients - k + 1) as f64 / k as f64;
        choices *= (channels - k + 1) as f64 / k as f64;
        work += sets * choices * k as f64;
    }
    work
}

/// Returns whether enumeration is affordable at this size.
pub(crate) fn is_enumerable(clients: usize, channels: usize, epochs: usize) -> bool {
    row_operations(clients, channels, epochs) <= MAX_ROW_OPERATIONS
}

/// Returns whether enumeration is the fastest method at this size.
pub(crate) fn is_quick(clients: usize, channels: usize, epochs: usize) -> bool {
    row_operations(clients, channels, epochs) <= QUICK_ROW_OPERATIONS
}

fn row_operations(clients: usize, channels: usize, epochs: usize) -> f64 {
    enumeration_work(clients, channels) * epochs.max(8) as f64 / 8.0
}

/// Returns the best plan, with every set and every tau tried.
pub(crate) fn enumerate(instance: &Instance, table: &Table) -> Plan {
    let mut search = Search::new(table);
    search.extend(0, 0, table.epochs(), Sums::default());
    let Some((clients, tau)) = search.best else {
        return Plan::nobody();
    };
    plan_at(
        instance,
        &cheapest_channels(table, &clients, tau),
        tau as u32,
    )
}

/// Returns the best plan where tau may be too large for a table: every assignment in turn, each
/// solved by [`inner::solve`].
pub(crate) fn enumerate_assignments(instance: &Instance) -> Plan {
    let mut best = (nobody_objective(instance), Plan::nobody());
    each_assignment(instance, 0, &mut Vec::new(), &mut |pairs| {
        keep_better(instance, pairs, &mut best);
    });
    best.1
}

/// Returns the best plan of every number of participants from 1 to C, or `None` where the instance
/// is too large to try every assignment. A number of participants that cannot all finish an epoch has no plan.
#[must_use]
pub fn best_by_participants(instance: &Instance) -> Option<Vec<Option<(f64, Plan)>>> {
    let sizes = instance.channels.min(instance.clients());
    if enumeration_work(instance.clients(), instance.channels) > QUICK_ROW_OPERATIONS {
        return None;
    }
    let mut best = vec![(f64::INFINITY, Plan::nobody()); sizes];
    each_assignment(instance, 0, &mut Vec::new(), &mut |pairs| {
        if let Some(size) = pairs.len().checked_sub(1) {
            keep_better(instance, pairs, &mut best[size]);
        }
    });
    let found = |(value, plan): (f64, Plan)| value.is_finite().then_some((value, plan));
    Some(best.into_iter().map(found).collect())
}

fn keep_better(instance: &Instance, pairs: &[Pair], best: &mut (f64, Plan)) {
    if let Some(plan) = inner::solve(instance, pairs) {
        let value = evaluate(instance, &plan).total;
        if value < best.0 {
            *best = (value, plan);
        }
    }
}

/// Visits every assignment of clients to the channels from `channel` on.
fn each_assignment(
    instance: &Instance,
    channel: usize,
    pairs: &mut Vec<Pair>,
    visit: &mut dyn FnMut(&[Pair]),
) {
    if channel == instance.channels {
        visit(pairs);
        return;
    }
    each_assignment(instance, channel + 1, pairs, visit);
    for client in 0..instance.clients() {
        if pairs.iter().all(|pair| pair.client != client) {
            pairs.push(Pair { client, channel });
            each_assignment(instance, channel + 1, pairs, visit);
            pairs.pop();
        }
    }
}

/// Puts a set of clients on its cheapest channels at `tau`.
pub(crate) fn cheapest_channels(table: &Table, clients: &[usize], tau: usize) -> Vec<Pair> {
    let mut matcher = Matcher::default();
    // A large reward makes every client take a channel; the choice among channels is unaffected.
    let worst = clients
        .iter()
        .flat_map(|&i| (0..table.channels()).map(move |c| table.cost(i, c, tau)))
        .filter(|cost| cost.is_finite())
        .fold(0.0f64, |sum, cost| sum + cost.abs());
    let reward = 2.0 * worst + 1.0;
    matcher.solve(clients.len(), table.channels(), |row, channel| {
        table.cost(clients[row], channel, tau) - reward
    });
    (0..clients.len())
        .filter_map(|row| {
            let channel = matcher.column_of(row, table.channels())?;
            Some(Pair {
                client: clients[row],
                channel,
            })
        })
        .collect()
}

struct Search<'a> {
    table: &'a Table,
    /// `[depth][channel set][tau - 1]`: the cheapest way to put the current set there.
    layers: Vec<Vec<f64>>,
    /// Channel sets by how many channels they hold.
    channel_sets: Vec<Vec<usize>>,
    set: Vec<usize>,
    cheapest: Vec<f64>,
    value: f64,
    best: Option<(Vec<usize>, usize)>,
}

impl<'a> Search<'a> {
    fn new(table: &'a Table) -> Self {
        let (channels, epochs) = (table.channels(), table.epochs());
        let depth = table.clients().min(channels);
        let mut channel_sets = vec![Vec::new(); depth + 1];
        for set in 0..1usize << channels {
            if let Some(sets) = channel_sets.get_mut(set.count_ones() as usize) {
                sets.push(set);
            }
        }
        let mut layers = vec![vec![f64::INFINITY; epochs << channels]; depth + 1];
        layers[0][..epochs].fill(0.0);
        Self {
            table,
            layers,
            channel_sets,
            set: Vec::with_capacity(depth),
            cheapest: vec![0.0; epochs],
            value: 0.0,
            best: None,
        }
    }

    /// Tries every set that extends the current one by clients from `first` on.
    fn extend(&mut self, first: usize, depth: usize, epochs: usize, sums: Sums) {
        if depth == self.layers.len() - 1 {
            return;
        }
        for client in first..self.table.clients() {
            let epochs = epochs.min(self.table.client_limit(client) as usize);
            if epochs == 0 {
                continue;
            }
            self.add(client, depth, epochs);
            let sums = sums + self.table.shares[client];
            self.set.push(client);
            self.judge(depth + 1, epochs, &sums);
            self.extend(client + 1, depth + 1, epochs, sums);
            self.set.pop();
        }
    }

    /// Fills the layer below `depth` with the current set and one more client.
    fn add(&mut self, client: usize, depth: usize, epochs: usize) {
        let stride = self.table.epochs();
        let (above, below) = self.layers.split_at_mut(depth + 1);
        let (above, below) = (&above[depth], &mut below[0]);
        for &target in &self.channel_sets[depth + 1] {
            let row = &mut below[target * stride..target * stride + epochs];
            row.fill(f64::INFINITY);
            for channel in (0..self.table.channels()).filter(|c| target >> c & 1 == 1) {
                let from = (target & !(1 << channel)) * stride;
                let costs = &self.table.row(client, channel)[..epochs];
                for ((sum, before), cost) in row.iter_mut().zip(&above[from..]).zip(costs) {
                    *sum = sum.min(before + cost);
                }
            }
        }
    }

    /// Compares the current set at every tau with the best plan so far.
    fn judge(&mut self, depth: usize, epochs: usize, sums: &Sums) {
        let stride = self.table.epochs();
        let cheapest = &mut self.cheapest[..epochs];
        cheapest.fill(f64::INFINITY);
        for &target in &self.channel_sets[depth] {
            let row = &self.layers[depth][target * stride..];
            for (least, cost) in cheapest.iter_mut().zip(row) {
                *least = least.min(*cost);
            }
        }
        let (a1, va3) = self.table.set_terms(sums);
        let (mut value, mut best_tau) = (self.value, 0);
        for (at, cost) in cheapest.iter().enumerate() {
            let tau = (at + 1) as f64;
            let total = cost + self.table.drift[at] * a1 + tau * va3 + self.table.gain[at];
            if total < value {
                (value, best_tau) = (total, at + 1);
            }
        }
        if best_tau > 0 {
            self.value = value;
            self.best = Some((self.set.clone(), best_tau));
        }
    }
}
