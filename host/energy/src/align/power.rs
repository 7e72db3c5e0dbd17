//! Alignment by power: finds the place in a trace where the power is most even within each phase.
//!
//! For a place and a drift, each (phase, clock) has the mean power of its intervals; the unexplained
//! variance is smallest at the right place. Around it every step of power is timed, and a line
//! through these steps is the clock.

use std::collections::BTreeMap;

use super::clock::Clock;
use super::{AlignError, MAX_DRIFT, Residual, board_s};
use crate::mark::Mark;
use crate::trace::{Block, Trace};

/// Initial length of a bin, far below the accuracy of an alignment by power.
const FINEST_S: f64 = 0.25e-3;
/// Number of bins at which pairs of bins are merged.
const MOST_BINS: usize = 1 << 21;

/// Running sums of energy and of squared power over even bins, in bounded memory.
#[derive(Clone, Debug)]
pub(super) struct Binned {
    bin_s: f64,
    rate_hz: f64,
    samples: u64,
    /// Joules up to the end of each bin, starting with 0.
    energy: Vec<f64>,
    /// Integral of squared power up to the end of each bin.
    square: Vec<f64>,
}

impl Binned {
    pub(super) fn read<T: Trace>(trace: &mut T, rate_hz: f64) -> Result<Self, T::Error> {
        let mut per_bin = ((rate_hz * FINEST_S) as u64).max(1);
        let (mut bins, mut sum, mut filled, mut samples) = (Vec::new(), 0.0, 0, 0);
        let mut block = Block::default();
        while trace.read(&mut block)? {
            for &power_w in &block.power_w {
                sum += f64::from(power_w);
                filled += 1;
                if filled == per_bin {
                    bins.push(sum / per_bin as f64);
                    (sum, filled) = (0.0, 0);
                    if bins.len() == MOST_BINS {
                        bins = bins
                            .chunks(2)
                            .map(|pair| 0.5 * (pair[0] + pair[1]))
                            .collect();
                        per_bin *= 2;
                    }
                }
            }
            samples += block.power_w.len() as u64;
        }
        let bin_s = per_bin as f64 / rate_hz;
        let running = |of: fn(f64) -> f64| {
            let mut total = 0.0;
            let sums = bins.iter().map(|&power_w| {
                total += of(power_w) * bin_s;
                total
            });
            std::iter::once(0.0).chain(sums).collect()
        };
        Ok(Self {
            bin_s,
            rate_hz,
            samples,
            energy: running(|power_w| power_w),
            square: running(|power_w| power_w * power_w),
        })
    }

    pub(super) const fn samples(&self) -> u64 {
        self.samples
    }

    pub(super) const fn bin_s(&self) -> f64 {
        self.bin_s
    }

    pub(super) fn length_s(&self) -> f64 {
        self.samples as f64 / self.rate_hz
    }

    /// Returns the energy up to a moment, interpolated within a bin.
    pub(super) fn energy_until(&self, at_s: f64) -> f64 {
        between(&self.energy, at_s / self.bin_s)
    }

    /// Returns the integral of squared power up to a moment.
    pub(super) fn square_until(&self, at_s: f64) -> f64 {
        between(&self.square, at_s / self.bin_s)
    }

    /// Returns the mean power between two moments.
    pub(super) fn mean_w(&self, from_s: f64, to_s: f64) -> f64 {
        (self.energy_until(to_s) - self.energy_until(from_s)) / (to_s - from_s)
    }

    /// Returns the nearest end of a bin, at which the energy is exact.
    pub(super) fn whole(&self, at_s: f64) -> f64 {
        (at_s / self.bin_s).round() * self.bin_s
    }
}

fn between(sums: &[f64], place: f64) -> f64 {
    let last = sums.len() - 1;
    let place = place.clamp(0.0, last as f64);
    let below = (place as usize).min(last.saturating_sub(1));
    let above = (below + 1).min(last);
    sums[below] + (place - below as f64) * (sums[above] - sums[below])
}

/// Largest number of evaluated intervals in the coarse search.
const COARSE_LIMIT: f64 = 2e8;
/// Number of places that are refined.
const CANDIDATES: usize = 6;
/// A place is unique if any other leaves this many times as much unexplained.
const UNIQUE: f64 = 1.5;
/// Share of the variance that the marks must explain.
const MIN_EXPLAINED: f64 = 0.5;
/// Steps below this share of the largest step are not timed.
const CLEAR_STEP: f64 = 0.2;
/// Largest distance within which an edge is searched.
const WINDOW_S: f64 = 50e-3;

/// Intervals of a measurement and their groups of equal power.
struct Pattern {
    /// Starts of the intervals from the middle of the measurement, and the end of the last.
    bounds: Vec<f64>,
    /// Group of each interval: its (phase, clock).
    group: Vec<usize>,
    groups: usize,
    middle_s: f64,
}

/// A position of the measurement's middle in the trace, with a drift.
#[derive(Clone, Copy, Debug)]
struct Place {
    at_s: f64,
    drift: f64,
    /// Unexplained share of the variance.
    unexplained: f64,
}

pub(super) fn find(binned: &Binned, marks: &[Mark]) -> Result<(Clock, Vec<Residual>), AlignError> {
    let pattern = Pattern::of(marks);
    let span_s = pattern.span_s();
    if binned.length_s() < span_s || span_s <= 0.0 {
        return Err(AlignError::TooShort {
            trace_s: binned.length_s(),
            marks_s: span_s,
        });
    }
    let mut places = pattern.coarse_search(binned);
    for place in &mut places {
        *place = pattern.refine(binned, *place);
    }
    places.sort_by(|a, b| a.unexplained.total_cmp(&b.unexplained));
    // There is at least one candidate: a grid has a lowest point.
    let best = places[0];
    if 1.0 - best.unexplained < MIN_EXPLAINED {
        return Err(AlignError::Unrelated(100.0 * (1.0 - best.unexplained)));
    }
    let apart = 8.0 * binned.bin_s();
    let other = places.iter().find(|place| {
        (place.at_s - best.at_s).abs() > apart && place.unexplained < UNIQUE * best.unexplained
    });
    if let Some(other) = other {
        return Err(AlignError::Ambiguous {
            first_s: best.at_s - 0.5 * span_s,
            second_s: other.at_s - 0.5 * span_s,
        });
    }
    let mut clock = Clock {
        origin_s: pattern.middle_s,
        origin_trace_s: best.at_s,
        drift: best.drift,
    };
    let mut edges = Vec::new();
    for _ in 0..3 {
        edges = pattern.edges(binned, &clock);
        let times: Vec<(f64, f64)> = (edges.iter())
            .map(|&(mark, trace_s)| (board_s(&marks[mark]), trace_s))
            .collect();
        clock = Clock::through(&times, binned.bin_s()).ok_or(AlignError::TooFew(times.len()))?;
    }
    let residuals = (edges.into_iter())
        .map(|(mark, trace_s)| Residual {
            mark,
            trace_s,
            miss_s: trace_s - clock.to_trace(board_s(&marks[mark])),
        })
        .collect();
    Ok((clock, residuals))
}

impl Pattern {
    fn of(marks: &[Mark]) -> Self {
        let first_s = marks.first().map_or(0.0, board_s);
        let middle_s = 0.5 * (first_s + marks.last().map_or(0.0, board_s));
        let mut names = BTreeMap::new();
        let group = marks[..marks.len().saturating_sub(1)]
            .iter()
            .map(|mark| {
                let next = names.len();
                *names.entry((mark.phase, mark.clk_hz)).or_insert(next)
            })
            .collect();
        Self {
            bounds: marks.iter().map(|mark| board_s(mark) - middle_s).collect(),
            group,
            groups: names.len(),
            middle_s,
        }
    }

    fn span_s(&self) -> f64 {
        self.bounds[self.bounds.len() - 1] - self.bounds[0]
    }

    /// Returns the share of the power's variance that the groups' means leave unexplained.
    fn unexplained(&self, binned: &Binned, at_s: f64, drift: f64) -> f64 {
        let place = |bound: f64| at_s + (1.0 + drift) * bound;
        let mut sums = vec![(0.0, 0.0); self.groups];
        let mut before = binned.energy_until(place(self.bounds[0]));
        for (pair, &group) in self.bounds.windows(2).zip(&self.group) {
            let until = binned.energy_until(place(pair[1]));
            sums[group].0 += until - before;
            sums[group].1 += (1.0 + drift) * (pair[1] - pair[0]);
            before = until;
        }
        let explained: f64 = (sums.iter())
            .filter(|sum| sum.1 > 0.0)
            .map(|sum| sum.0 * sum.0 / sum.1)
            .sum();
        let (from, to) = (place(self.bounds[0]), place(self.bounds[self.group.len()]));
        let square = binned.square_until(to) - binned.square_until(from);
        let variance = square - binned.mean_w(from, to).powi(2) * (to - from);
        // A flat power has no variance to explain.
        if variance > 1e-12 * square {
            ((square - explained) / variance).clamp(0.0, 1.0)
        } else {
            1.0
        }
    }

    /// Evaluates places along the whole trace and returns the best local minima.
    fn coarse_search(&self, binned: &Binned) -> Vec<Place> {
        let half = 0.5 * self.span_s();
        let room_s = binned.length_s() - 2.0 * half;
        let fewest = room_s * self.group.len() as f64 / COARSE_LIMIT;
        let step_s = binned.bin_s().max(fewest);
        let count = (room_s / step_s) as usize + 1;
        let seen: Vec<f64> = (0..count)
            .map(|n| self.unexplained(binned, half + n as f64 * step_s, 0.0))
            .collect();
        let lowest = |&n: &usize| {
            let left = n.checked_sub(1).is_none_or(|left| seen[n] < seen[left]);
            left && seen.get(n + 1).is_none_or(|&right| seen[n] <= right)
        };
        let mut low: Vec<usize> = (0..count).filter(lowest).collect();
        low.sort_by(|&a, &b| seen[a].total_cmp(&seen[b]));
        low.truncate(CANDIDATES);
        low.into_iter()
            .map(|n| Place {
                at_s: half + n as f64 * step_s,
                drift: 0.0,
                unexplained: seen[n],
            })
            .collect()
    }

    /// Improves a place and its drift by a pattern search with ever smaller steps.
    fn refine(&self, binned: &Binned, from: Place) -> Place {
        let mut best = from;
        let try_out = |best: &mut Place, at_s: f64, drift: f64| {
            let unexplained = self.unexplained(binned, at_s, drift);
            let better = unexplained < best.unexplained && drift.abs() < MAX_DRIFT;
            if better {
                *best = Place {
                    at_s,
                    drift,
                    unexplained,
                };
            }
            better
        };
        for ppm in (-300..=300).step_by(10) {
            try_out(&mut best, from.at_s, f64::from(ppm) * 1e-6);
        }
        let mut step_s = 4.0 * binned.bin_s();
        while step_s > 0.02 * binned.bin_s() {
            let turn = step_s / (0.5 * self.span_s());
            let Place { at_s, drift, .. } = best;
            let moves = [(step_s, 0.0), (-step_s, 0.0), (0.0, turn), (0.0, -turn)];
            let moved = moves
                .map(|(along, faster)| try_out(&mut best, at_s + along, drift + faster))
                .contains(&true);
            if !moved {
                step_s *= 0.5;
            }
        }
        best
    }

    /// Times every clear step of power by the energy around it: with power a before and b after,
    /// the energy from L to R is a (e - L) + b (R - e).
    fn edges(&self, binned: &Binned, clock: &Clock) -> Vec<(usize, f64)> {
        let place = |at: usize| clock.to_trace(self.middle_s + self.bounds[at]);
        let mut edges: Vec<(usize, f64, f64)> = Vec::new();
        for at in 1..self.group.len() {
            let (start, edge, end) = (place(at - 1), place(at), place(at + 1));
            let reach = (0.25 * (edge - start).min(end - edge)).min(WINDOW_S);
            let (left, right) = (binned.whole(edge - reach), binned.whole(edge + reach));
            if reach < 2.0 * binned.bin_s() || left < 0.0 || right > binned.length_s() {
                continue;
            }
            let before_w = binned.mean_w(start + reach, left);
            let after_w = binned.mean_w(right, end - reach);
            let energy = binned.energy_until(right) - binned.energy_until(left);
            let found = (energy + before_w * left - after_w * right) / (before_w - after_w);
            if found > left && found < right {
                edges.push((at, found, (before_w - after_w).abs()));
            }
        }
        let largest = edges.iter().map(|edge| edge.2).fold(0.0, f64::max);
        edges
            .into_iter()
            .filter(|edge| edge.2 >= CLEAR_STEP * largest)
            .map(|(at, found, _)| (at, found))
            .collect()
    }
}
