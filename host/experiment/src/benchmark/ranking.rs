//! Comparison of the reference scheduler with the others, seed by seed: the same seed gives both the
//! same samples, places and fading, so that differences of pairs are due to the schedulers.

use std::collections::BTreeMap;

use serde::Serialize;
use strum::Display;

use super::results::Results;
use super::{Candidate, Part, Server};
use crate::error::ExperimentError;
use crate::stats::Interval;

/// Direction in which a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Better {
    More,
    Less,
}

/// Verdict of a paired difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub(super) enum Verdict {
    /// Better, and the interval excludes zero.
    Ahead,
    /// The interval contains zero.
    Level,
    /// Worse, and the interval excludes zero.
    Behind,
    /// One seed has no interval.
    #[strum(serialize = "one seed")]
    OneSeed,
}

/// Paired difference, reference minus other: mean over the seeds, its 95 % percentile bootstrap
/// interval, and the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Difference {
    pub(super) mean: f64,
    pub(super) interval: Option<Interval>,
    pub(super) verdict: Verdict,
}

impl Difference {
    pub(super) fn of(differences: &[f64], better: Better) -> Self {
        let mean = differences.iter().sum::<f64>() / differences.len().max(1) as f64;
        let interval = Interval::of_mean(differences);
        let verdict = match interval {
            None => Verdict::OneSeed,
            Some(interval) if interval.holds_zero() => Verdict::Level,
            Some(_) if (mean > 0.0) == (better == Better::More) => Verdict::Ahead,
            Some(_) => Verdict::Behind,
        };
        Self {
            mean,
            interval,
            verdict,
        }
    }

    /// Returns the lead of the reference, negative if it is worse.
    fn lead(&self, better: Better) -> f64 {
        match better {
            Better::More => self.mean,
            Better::Less => -self.mean,
        }
    }
}

/// The reference scheduler against one other in a part and cell: accuracy over the last tenth of the
/// rounds in points, and energy of all clients in millijoules per round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct PairedComparison {
    pub(super) part: Part,
    pub(super) cell: usize,
    pub(super) other: Candidate,
    pub(super) accuracy_points: Difference,
    pub(super) energy_mj: Difference,
}

impl PairedComparison {
    /// Compares two candidates of the same part and cell, which must have run with the same seeds.
    pub(super) fn of(reference: &Results, other: &Results) -> Result<Self, ExperimentError> {
        let seeds = |results: &Results| results.records.keys().copied().collect::<Vec<u64>>();
        if seeds(reference) != seeds(other) {
            return Err(ExperimentError::Unpaired {
                name: reference.candidate.name(),
                seeds: seeds(reference),
                other: other.candidate.name(),
                others: seeds(other),
            });
        }
        let pairs = |figure: fn(&Results) -> BTreeMap<u64, f64>| -> Vec<f64> {
            let (one, two) = (figure(reference), figure(other));
            one.iter().map(|(seed, value)| value - two[seed]).collect()
        };
        Ok(Self {
            part: other.part,
            cell: other.cell,
            other: other.candidate,
            accuracy_points: Difference::of(&pairs(Results::accuracies), Better::More),
            energy_mj: Difference::of(&pairs(Results::energies), Better::Less),
        })
    }
}

/// One figure of the reference against all others: whether every interval excludes zero in its favour,
/// the smallest lead in the mean, and the candidate at that distance.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the struct's documentation says it")]
pub struct Against {
    pub ahead_of_all: bool,
    pub least_lead: f64,
    pub nearest: Candidate,
}

impl Against {
    fn of<'a>(
        comparisons: &[&'a PairedComparison],
        better: Better,
        figure: impl Fn(&'a PairedComparison) -> &'a Difference,
    ) -> Option<Self> {
        let lead = |it: &&&'a PairedComparison| figure(it).lead(better);
        let nearest = comparisons
            .iter()
            .min_by(|a, b| lead(a).total_cmp(&lead(b)))?;
        let ahead = |it: &&'a PairedComparison| figure(it).verdict == Verdict::Ahead;
        Some(Self {
            ahead_of_all: comparisons.iter().all(ahead),
            least_lead: lead(&nearest),
            nearest: nearest.other,
        })
    }
}

/// Ranking of the reference in a part and cell, against all others with one kind of server.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the struct's documentation says it")]
pub struct CellRanking {
    pub part: Part,
    pub cell: usize,
    pub server: Server,
    pub accuracy_points: Against,
    pub energy_mj: Against,
}

/// Returns the rankings by part, cell and the others' server.
pub(super) fn rankings(comparisons: &[PairedComparison]) -> Vec<CellRanking> {
    let key = |it: &PairedComparison| (it.part, it.cell, it.other.server);
    let mut places: Vec<(Part, usize, Server)> = Vec::new();
    for comparison in comparisons {
        if !places.contains(&key(comparison)) {
            places.push(key(comparison));
        }
    }
    let ranking = |place: (Part, usize, Server)| {
        let here = comparisons.iter().filter(|it| key(it) == place);
        let here: Vec<&PairedComparison> = here.collect();
        let (part, cell, server) = place;
        Some(CellRanking {
            part,
            cell,
            server,
            accuracy_points: Against::of(&here, Better::More, |it| &it.accuracy_points)?,
            energy_mj: Against::of(&here, Better::Less, |it| &it.energy_mj)?,
        })
    };
    places.into_iter().filter_map(ranking).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::policy::{BaselinePower, Scheduler};

    #[test]
    fn ahead_needs_an_interval_without_zero_and_the_right_sign() {
        let verdict = |values: &[f64], better| Difference::of(values, better).verdict;
        let (up, mixed) = ([0.5, 0.7, 0.6, 0.4], [0.5, -0.7, 0.6, -0.4]);
        let down = up.map(|value| -value);
        assert_eq!(verdict(&up, Better::More), Verdict::Ahead);
        assert_eq!(verdict(&up, Better::Less), Verdict::Behind);
        assert_eq!(verdict(&down, Better::Less), Verdict::Ahead);
        assert_eq!(verdict(&down, Better::More), Verdict::Behind);
        assert_eq!(verdict(&mixed, Better::More), Verdict::Level);
        assert_eq!(verdict(&[0.0; 4], Better::More), Verdict::Level);
        assert_eq!(verdict(&[9.0], Better::More), Verdict::OneSeed);
        let lead = Difference::of(&down, Better::Less).lead(Better::Less);
        assert!((lead - 0.55).abs() < 1e-12, "{lead}");
    }

    #[test]
    fn one_other_that_is_level_prevents_ahead_of_all_and_is_named() {
        let schedulers = [Scheduler::Random, Scheduler::RoundRobin];
        let candidates = Candidate::list(&schedulers, &[BaselinePower::Min], None);
        let comparison = |other, points: [f64; 3], energy: [f64; 3]| PairedComparison {
            part: Part::Paper,
            cell: 0,
            other,
            accuracy_points: Difference::of(&points, Better::More),
            energy_mj: Difference::of(&energy, Better::Less),
        };
        let far = comparison(candidates[0], [5.0, 6.0, 7.0], [-3.0, -4.0, -2.0]);
        let near = comparison(candidates[1], [0.5, -0.6, 0.7], [-1.0, -1.5, -0.5]);
        let ranking = rankings(&[far, near]).remove(0);
        assert!(!ranking.accuracy_points.ahead_of_all);
        assert_eq!(ranking.accuracy_points.nearest, candidates[1]);
        assert!(ranking.energy_mj.ahead_of_all);
        assert_eq!(ranking.energy_mj.least_lead, 1.0);
        assert_eq!(rankings(&[]), []);
    }
}
