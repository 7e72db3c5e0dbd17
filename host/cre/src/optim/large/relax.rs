//! The lower bound: a Lagrangian relaxation of one tau over a box of sums.
//!
//! Write W = sum w_i and S = sum w_i delta_i^2 over participants. The bound's A_3 part is a
//! function f(W, S), the energies are a linear assignment problem, and the A_1 part, for W in an
//! interval, is at least a sum of per-client terms. Giving the assignment and f copies of W and S
//! of their own and pricing the difference at (a, b),
//!
//! J - J(nobody) >= gain + min over the box of (f(W, S) - a W - b S)
//!                 + min over assignments of sum (cost + k_i + a w_i + b w_i delta_i^2)
//!
//! for every (a, b) and every set whose sums lie in the box. Good prices are found by ascent.

use super::layer::Layer;
use super::planes::{Plane, highest};
use crate::optim::assignment::Matcher;
use crate::optim::table::Table;

/// A box: an interval of W and one of r = S / W, the participants' mean delta^2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sides {
    pub(super) w: (f64, f64),
    pub(super) r: (f64, f64),
}

/// The prices of W and S.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Prices {
    pub(super) w: f64,
    pub(super) s: f64,
}

/// The result of one relaxation.
#[derive(Clone, Debug)]
pub(super) struct Relaxation {
    /// No set in the box has a lower J - J(nobody).
    pub(super) bound: f64,
    pub(super) prices: Prices,
    /// W and S where the box's minimum lies.
    pub(super) box_point: (f64, f64),
    /// W and S of the assignment.
    pub(super) set_point: (f64, f64),
    /// The assignment: column of each channel.
    pub(super) columns: Vec<Option<usize>>,
}

/// Relative allowance for rounding in the sums of a bound.
const ROUNDING: f64 = 1e-13;

/// Pieces the W interval is cut into for the minimum over the box.
const PIECES: usize = 12;

/// Evaluates relaxations of one layer, reusing buffers.
pub(super) struct Relaxer<'a> {
    table: &'a Table,
    pub(super) matcher: Matcher,
    /// Per column: k_i + a w_i + b s_i, infinite for a client that alone is heavier than the box.
    pub(super) shift: Vec<f64>,
}

impl<'a> Relaxer<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        Self {
            table,
            matcher: Matcher::default(),
            shift: Vec::new(),
        }
    }

    /// Evaluates the bound at given prices.
    pub(super) fn evaluate(&mut self, layer: &Layer, sides: &Sides, prices: Prices) -> Relaxation {
        let (box_value, box_point) = self.box_minimum(layer, sides, prices);
        self.price_columns(layer, sides, prices);
        let (width, channels) = (layer.width(), self.table.channels());
        let shift = &self.shift;
        let matched = self.matcher.solve(channels, width, |channel, column| {
            layer.costs[channel * width + column] + shift[column]
        });
        let columns: Vec<Option<usize>> = (0..channels)
            .map(|channel| self.matcher.column_of(channel, width))
            .collect();
        let mut set_point = (0.0, 0.0);
        let mut magnitude = layer.gain.abs() + box_value.abs();
        for (channel, column) in columns.iter().enumerate() {
            if let &Some(column) = column {
                set_point.0 += layer.w[column];
                set_point.1 += layer.s[column];
                magnitude += layer.costs[channel * width + column].abs() + self.shift[column].abs();
            }
        }
        let bound = layer.gain + box_value + matched - ROUNDING * magnitude;
        Relaxation {
            bound,
            prices,
            box_point,
            set_point,
            columns,
        }
    }

    /// Raises the bound over the prices by cutting planes, until it reaches `target`, the copies
    /// agree, or `steps` evaluations are spent.
    ///
    /// The bound is concave in the prices, and the difference of the two copies is its slope:
    /// every evaluation is a plane above it. The next prices are where the lowest of the planes is
    /// highest, within a trust region around the best prices so far.
    pub(super) fn ascend(
        &mut self,
        layer: &Layer,
        sides: &Sides,
        start: Prices,
        target: f64,
        steps: usize,
        mut visit: impl FnMut(&Relaxation),
    ) -> Relaxation {
        // Units in which a step of one box side changes the bound by the price itself.
        let scale_w = (sides.w.1 - sides.w.0).max(0.05 * sides.w.1);
        let scale_s = (sides.w.1 * sides.r.1 - sides.w.0 * sides.r.0).max(0.05 * layer.s_most(1.0));
        let scale_s = scale_s.max(1e-12);
        let plane = |at: &Relaxation| Plane {
            at: (at.prices.w * scale_w, at.prices.s * scale_s),
            value: at.bound,
            slope: (
                (at.set_point.0 - at.box_point.0) / scale_w,
                (at.set_point.1 - at.box_point.1) / scale_s,
            ),
        };
        let mut best = self.evaluate(layer, sides, start);
        visit(&best);
        let mut planes = vec![plane(&best)];
        let mut radius = 2.0 * (target - best.bound).max(0.0);
        for _ in 1..steps {
            if best.bound >= target {
                break;
            }
            let centre = (best.prices.w * scale_w, best.prices.s * scale_s);
            let next = highest(&planes, centre, radius);
            let prices = Prices {
                w: next.0 / scale_w,
                s: next.1 / scale_s,
            };
            if prices == best.prices {
                break;
            }
            let current = self.evaluate(layer, sides, prices);
            visit(&current);
            planes.push(plane(&current));
            if current.bound > best.bound {
                best = current;
                radius *= 2.0;
            } else {
                radius *= 0.5;
            }
        }
        best
    }

    /// Returns f's gradient: the prices at which the relaxation touches the objective there.
    pub(super) fn gradient(&self, layer: &Layer, (w, s): (f64, f64)) -> Prices {
        let (w, step) = (w.clamp(1e-9, 1.0), 1e-6);
        let f = |w, s| self.f(layer, w, s);
        let (dw, ds) = (step * w, step * s.max(1e-9));
        Prices {
            w: (f(w + dw, s) - f(w - dw, s)) / (2.0 * dw),
            s: (f(w, s + ds) - f(w, s - ds)) / (2.0 * ds),
        }
    }

    /// Returns tau V A_3 as a function of W and S.
    fn f(&self, layer: &Layer, w: f64, s: f64) -> f64 {
        layer.tau as f64
            * self
                .table
                .weighted_a3(a2(w, s, self.table.total.s).max(0.0))
    }

    fn price_columns(&mut self, layer: &Layer, sides: &Sides, prices: Prices) {
        let (low, high) = sides.w;
        let spread = |t: f64| t * (1.0 - t);
        self.shift.clear();
        self.shift
            .extend(
                layer
                    .w
                    .iter()
                    .zip(&layer.s)
                    .zip(&layer.drift)
                    .map(|((&w, &s), &drift)| {
                        if w > high {
                            return f64::INFINITY;
                        }
                        // t (1 - t) is concave, so its least value over the interval is at an end.
                        let share = spread(w / high).min(spread((w / low).min(1.0)));
                        drift * share + prices.w * w + prices.s * s
                    }),
            );
    }

    /// Returns a lower bound on f(W, S) - a W - b S over the reachable part of the box, and where.
    ///
    /// f is concave in S, so S = r W with r at an end. Along such a line A_2 is the convex
    /// g(W) = 2 (1 - W)(S_total + r (1 - 2 W)). W is cut into pieces; on each, the function lies
    /// above its chord less [`Self::sag`].
    fn box_minimum(&self, layer: &Layer, sides: &Sides, prices: Prices) -> (f64, (f64, f64)) {
        let (mut least, mut point) = (f64::INFINITY, (sides.w.0, sides.w.0 * sides.r.0));
        let width = (sides.w.1 - sides.w.0) / PIECES as f64;
        for piece in 0..PIECES {
            let low = sides.w.0 + piece as f64 * width;
            let high = if piece + 1 == PIECES {
                sides.w.1
            } else {
                low + width
            };
            // The least mean rises with W and the most falls, so they are widest at `low`.
            let r_low = sides.r.0.max(layer.s_least(low) / low);
            let r_high = sides.r.1.min(layer.s_most(low) / low);
            if r_low > r_high {
                continue;
            }
            for r in [r_low, r_high] {
                let line = |w: f64| self.f(layer, w, r * w) - (prices.w + prices.s * r) * w;
                let (at_low, at_high) = (line(low), line(high));
                let value = at_low.min(at_high) - self.sag(layer, low, high, r);
                if value < least {
                    let w = if at_low < at_high { low } else { high };
                    (least, point) = (value, (w, r * w));
                }
            }
        }
        (least, point)
    }

    /// Returns how far f can lie below its chord on [low, high] along S = r W.
    ///
    /// f = c1 sqrt(g) + c2 g has f'' <= (c1 / (2 sqrt(g)) + c2) g'' with g'' = 8 r, so it lies at
    /// most f'' width^2 / 8 below. Near g = 0 the fall of f over the piece is the better bound.
    fn sag(&self, layer: &Layer, low: f64, high: f64, r: f64) -> f64 {
        let total = self.table.total.s;
        let g = |w: f64| a2(w, r * w, total).max(0.0);
        let (g_low, g_high) = (g(low), g(high));
        // A convex function's minimum: at an end, or where its derivative vanishes.
        let stationary = ((total + 3.0 * r) / (4.0 * r)).clamp(low, high);
        let g_least = g_low
            .min(g_high)
            .min(g(if stationary.is_nan() { low } else { stationary }));
        let f = |g: f64| layer.tau as f64 * self.table.weighted_a3(g);
        let fall = f(g_low.max(g_high)) - f(g_least);
        if g_least <= 0.0 {
            return fall;
        }
        let slope = layer.tau as f64 * self.table.weighted_a3_slope(g_least);
        let width = high - low;
        (slope * r * width * width).min(fall)
    }
}

/// Returns A_2 = 2 (1 - W)((1 - W)/W S + S_total - S).
fn a2(w: f64, s: f64, total: f64) -> f64 {
    2.0 * (1.0 - w) * ((1.0 - w) / w * s + total - s)
}

#[cfg(test)]
mod tests {
    use gleaner_shared::rng::{Purpose, Rng};

    use super::super::fixture::{assignments, layers, rounds};
    use super::*;

    /// The box of all sets, and its quarters.
    fn boxes(layer: &Layer) -> Vec<Sides> {
        let lightest = layer.w.iter().copied().fold(f64::INFINITY, f64::min);
        let halves = |(low, high): (f64, f64)| {
            let middle = 0.5 * (low + high);
            [(low, high), (low, middle), (middle, high)]
        };
        let rs = halves(layer.mean_range);
        halves((lightest * (1.0 - 1e-12), layer.w_most))
            .into_iter()
            .flat_map(|w| rs.map(|r| Sides { w, r }))
            .collect()
    }

    #[test]
    fn at_any_prices_the_bound_is_below_every_set_of_the_box() {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
        for (_, table) in rounds() {
            let mut relaxer = Relaxer::new(&table);
            for layer in layers(&table) {
                let all = assignments(&table, &layer);
                let scale = layer.gain.abs();
                for sides in boxes(&layer) {
                    let prices = Prices {
                        w: scale * (4.0 * rng.uniform() - 2.0),
                        s: scale * (4.0 * rng.uniform() - 2.0),
                    };
                    let bound = relaxer.evaluate(&layer, &sides, prices).bound;
                    for set in all.iter().filter(|set| set.is_in(&sides)) {
                        assert!(bound <= set.value, "{bound} {}", set.value);
                    }
                }
            }
        }
    }

    #[test]
    fn the_ascent_raises_the_bound_and_keeps_it_below_every_set_of_the_box() {
        for (_, table) in rounds() {
            let mut relaxer = Relaxer::new(&table);
            for layer in layers(&table) {
                let all = assignments(&table, &layer);
                for sides in boxes(&layer) {
                    let start = Prices::default();
                    let before = relaxer.evaluate(&layer, &sides, start).bound;
                    let least = all
                        .iter()
                        .filter(|set| set.is_in(&sides))
                        .map(|set| set.value)
                        .fold(f64::INFINITY, f64::min);
                    let mut visits = 0;
                    let target = least.min(0.0);
                    let after = relaxer.ascend(&layer, &sides, start, target, 12, |_| visits += 1);
                    assert!(before <= after.bound && after.bound <= least);
                    assert!((1..=12).contains(&visits));
                }
            }
        }
    }

    #[test]
    fn the_minimum_over_a_box_is_below_the_function_everywhere_in_it() {
        for (_, table) in rounds().take(4) {
            let relaxer = Relaxer::new(&table);
            for layer in layers(&table) {
                let prices = relaxer.gradient(&layer, (0.3, 0.1));
                for sides in boxes(&layer) {
                    let (least, _) = relaxer.box_minimum(&layer, &sides, prices);
                    for step in 0..400 {
                        let part =
                            |(low, high): (f64, f64), at: f64| low + (high - low) * at / 19.0;
                        let w = part(sides.w, f64::from(step % 20));
                        let s = w * part(sides.r, f64::from(step / 20));
                        if s < layer.s_least(w) || s > layer.s_most(w) {
                            continue; // No set has these sums.
                        }
                        let value = relaxer.f(&layer, w, s) - prices.w * w - prices.s * s;
                        let room = 1e-12 * (value.abs() + prices.w.abs());
                        assert!(least <= value + room, "{least} {value}");
                    }
                }
            }
        }
    }
}
