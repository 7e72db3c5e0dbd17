//! The solver for sizes beyond enumeration: branch and bound over boxes of sums.
//!
//! At each tau the sets of clients are split by their sums W and S into boxes, and [`relax`]
//! bounds each box from below. Assignments found on the way, polished, are the plans. A box whose
//! bound is close to the best plan is closed for good by [`close`], which tries every set that
//! could still be better. The remaining difference when the work is spent is the gap. Work is counted in
//! visited table cells, never in time, so the answer is the same on every machine.

mod close;
#[cfg(test)]
mod fixture;
mod layer;
mod planes;
mod polish;
mod relax;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Instance;
use super::exact::cheapest_channels;
use super::inner::{Pair, plan_at};
use super::plan::Plan;
use super::table::Table;
use layer::Layer;
use relax::{Prices, Relaxation, Relaxer, Sides};

/// Limits on the work of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Table cells visited by assignment problems, about a nanosecond each.
    pub(crate) cells: u64,
    /// Sets tried to close a box.
    pub(crate) sets_per_box: usize,
}

impl Effort {
    /// Keeps a round of U = 100, C = 20 well under 50 ms.
    pub(crate) const ROUND: Self = Self {
        cells: 12_000_000,
        sets_per_box: 500,
    };
    /// About a minute: for an answer that must be proven.
    pub(crate) const PROOF: Self = Self {
        cells: 20_000_000_000,
        sets_per_box: 200_000,
    };
}

/// Ascent steps on the first box of a tau, and on the later ones.
const ROOT_STEPS: usize = 12;
const BOX_STEPS: usize = 8;

/// An assignment within this part of the best plan's value may be polished into a better one.
const WORTH_POLISHING: f64 = 0.02;

/// A plan and its proven lower bound.
pub(crate) struct Found {
    pub(crate) plan: Plan,
    /// No plan has a J - J(nobody) below this.
    pub(crate) lower_bound: f64,
    /// Whether the plan is proven optimal.
    pub(crate) closed: bool,
}

/// Solves an instance within the limits of `effort`.
pub(crate) fn solve(instance: &Instance, table: &Table, effort: Effort) -> Found {
    let mut search = Search::new(table, effort);
    let lower_bound = search.run();
    let closed = lower_bound >= search.value;
    let plan = match search.best {
        None => Plan::nobody(),
        Some((pairs, tau)) => plan_at(instance, &pairs, tau as u32),
    };
    Found {
        plan,
        lower_bound: lower_bound.min(search.value),
        closed,
    }
}

/// A box that is not searched yet.
#[derive(Clone, Debug)]
struct Node {
    bound: f64,
    tau: usize,
    /// `None` before the tau was bounded.
    relaxed: Option<(Sides, Relaxation)>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Node {
    /// The heap yields the lowest bound first.
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .bound
            .total_cmp(&self.bound)
            .then(other.tau.cmp(&self.tau))
    }
}

pub(super) struct Search<'a> {
    table: &'a Table,
    effort: Effort,
    layers: Vec<Option<Layer>>,
    relaxer: Relaxer<'a>,
    heap: BinaryHeap<Node>,
    /// J - J(nobody) of the best plan so far, at first the empty plan.
    value: f64,
    best: Option<(Vec<Pair>, usize)>,
}

impl<'a> Search<'a> {
    fn new(table: &'a Table, effort: Effort) -> Self {
        Self {
            table,
            effort,
            layers: vec![None; table.epochs()],
            relaxer: Relaxer::new(table),
            heap: BinaryHeap::new(),
            value: 0.0,
            best: None,
        }
    }

    /// Returns the proven lower bound.
    fn run(&mut self) -> f64 {
        for tau in 1..=self.table.epochs() {
            let layer = Layer::new(self.table, tau);
            self.heap.push(Node {
                bound: layer.quick_bound(),
                tau,
                relaxed: None,
            });
            self.layers[tau - 1] = Some(layer);
        }
        while let Some(node) = self.heap.pop() {
            if node.bound >= self.value {
                return self.value;
            }
            if self.relaxer.matcher.cells > self.effort.cells {
                return node.bound;
            }
            // The layer is put back below: nodes are searched one at a time.
            let Some(layer) = self.layers[node.tau - 1].take() else {
                continue;
            };
            match node.relaxed {
                None => self.open(&layer, node.bound),
                Some((sides, relaxation)) => {
                    if !self.close(&layer, &sides, &relaxation) {
                        self.split(&layer, &sides, &relaxation);
                    }
                }
            }
            self.layers[node.tau - 1] = Some(layer);
        }
        self.value
    }

    /// Bounds a whole tau.
    fn open(&mut self, layer: &Layer, quick_bound: f64) {
        let lightest = layer.w.iter().copied().fold(f64::INFINITY, f64::min) * (1.0 - 1e-12);
        let sides = Sides {
            w: (lightest, layer.w_most),
            r: layer.mean_range,
        };
        let (w, r) = (0.5 * (sides.w.0 + sides.w.1), 0.5 * (sides.r.0 + sides.r.1));
        let prices = self.relaxer.gradient(layer, (w, r * w));
        self.relax(layer, sides, prices, quick_bound, ROOT_STEPS);
    }

    /// Bounds a box, takes the assignments found as plans, and keeps the box if it may hold
    /// better ones.
    fn relax(&mut self, layer: &Layer, sides: Sides, prices: Prices, floor: f64, steps: usize) {
        let mut seen: Vec<Vec<Option<usize>>> = Vec::new();
        let target = self.value;
        let mut relaxation =
            self.relaxer
                .ascend(layer, &sides, prices, target, steps, |relaxation| {
                    if !seen.contains(&relaxation.columns) {
                        seen.push(relaxation.columns.clone());
                    }
                });
        for columns in seen {
            self.offer(layer, &columns);
        }
        relaxation.bound = relaxation.bound.max(floor);
        if relaxation.bound < self.value {
            let (bound, tau) = (relaxation.bound, layer.tau);
            self.heap.push(Node {
                bound,
                tau,
                relaxed: Some((sides, relaxation)),
            });
        }
    }

    /// Polishes an assignment and takes it if it is better than the best plan.
    fn offer(&mut self, layer: &Layer, columns: &[Option<usize>]) {
        let mut state = polish::State::new(self.table, layer, columns);
        if state.value() > self.value + WORTH_POLISHING * self.value.abs() {
            return;
        }
        let passes = state.polish();
        self.relaxer.matcher.cells += (passes * 8 * layer.costs.len()) as u64;
        let (value, pairs) = (state.value(), state.pairs());
        self.take(value, pairs, layer.tau);
    }

    fn take(&mut self, value: f64, pairs: Vec<Pair>, tau: usize) {
        if value < self.value {
            self.value = value;
            self.best = Some((pairs, tau));
        }
    }

    /// Bounds the halves of a box.
    fn split(&mut self, layer: &Layer, sides: &Sides, at: &Relaxation) {
        let Some(halves) = halves(layer, sides, at) else {
            // The sums agree to the last digit, so the box cannot be split.
            self.relaxer.matcher.cells = self.effort.cells + 1;
            let (bound, tau) = (at.bound, layer.tau);
            self.heap.push(Node {
                bound,
                tau,
                relaxed: Some((*sides, at.clone())),
            });
            return;
        };
        for child in halves {
            self.relax(layer, child, at.prices, at.bound, BOX_STEPS);
        }
    }

    /// Returns the energy costs of a set of columns on its cheapest channels.
    fn channels_of(&self, layer: &Layer, columns: &[usize]) -> (f64, Vec<Pair>) {
        let clients: Vec<usize> = columns
            .iter()
            .map(|&column| layer.clients[column])
            .collect();
        let pairs = cheapest_channels(self.table, &clients, layer.tau);
        if pairs.len() < clients.len() {
            return (f64::INFINITY, pairs);
        }
        let costs = pairs
            .iter()
            .map(|pair| self.table.cost(pair.client, pair.channel, layer.tau))
            .sum();
        (costs, pairs)
    }
}

/// Cuts a box across its longer side, between the two copies' points where they disagree; `None`
/// if it has no extent left.
fn halves(layer: &Layer, sides: &Sides, at: &Relaxation) -> Option<[Sides; 2]> {
    let span = |(low, high): (f64, f64)| high - low;
    let ratio = |(low, high): (f64, f64)| libm::log(high / low);
    let (long_w, long_r) = (
        ratio(sides.w),
        span(sides.r) / layer.mean_range.1.max(1e-300),
    );
    if long_w <= 1e-12 && long_r <= 1e-12 {
        return None;
    }
    let cut = |(low, high): (f64, f64), a: f64, b: f64| {
        (0.5 * (a + b)).clamp(low + 0.25 * (high - low), high - 0.25 * (high - low))
    };
    let (mut left, mut right) = (*sides, *sides);
    if long_w >= long_r {
        let w = cut(sides.w, at.set_point.0, at.box_point.0);
        (left.w.1, right.w.0) = (w, w);
    } else {
        let mean = |(w, s): (f64, f64)| if w > 0.0 { s / w } else { sides.r.0 };
        let r = cut(sides.r, mean(at.set_point), mean(at.box_point));
        (left.r.1, right.r.0) = (r, r);
    }
    Some([left, right])
}
