//! One against the other, seed by seed: the same seed deals the same samples, places and fading to
//! both, so the difference of a pair is the schedulers' and not the draw's.

use std::collections::BTreeMap;

use serde::Serialize;
use strum::Display;

use super::bootstrap::Interval;
use super::entrant::Entrant;
use super::error::TrackError;
use super::part::Part;
use super::standing::Standing;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// As with accuracy.
    More,
    /// As with energy.
    Less,
}

/// What a difference says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Display)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better, and the interval excludes zero.
    #[strum(serialize = "ahead")]
    Ahead,
    /// The interval holds zero.
    #[strum(serialize = "level")]
    Level,
    /// Worse, and the interval excludes zero.
    #[strum(serialize = "behind")]
    Behind,
    /// One seed has no interval.
    #[strum(serialize = "one seed")]
    OneSeed,
}

/// The paired difference, judged minus other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Mean over the seeds.
    pub mean: f64,
    /// The 95 % percentile bootstrap interval of the mean.
    pub interval: Option<Interval>,
    /// What it says.
    pub verdict: Verdict,
}

impl Difference {
    /// Judges differences of pairs.
    #[must_use]
    pub fn of(differences: &[f64], better: Better) -> Self {
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

    /// Returns how far the judged one leads, below zero where it trails.
    #[must_use]
    pub fn lead(&self, better: Better) -> f64 {
        match better {
            Better::More => self.mean,
            Better::Less => -self.mean,
        }
    }
}

/// The judged scheduler against one other, in a part and cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Duel {
    /// The part.
    pub part: Part,
    /// The cell.
    pub cell: usize,
    /// Whom it is compared with.
    pub other: Entrant,
    /// Accuracy over the last tenth of the rounds, in points.
    pub accuracy_points: Difference,
    /// Energy of all clients, in millijoules a round.
    pub energy_mj: Difference,
}

impl Duel {
    /// Compares two standings of the same part and cell.
    ///
    /// # Errors
    /// [`TrackError::Unpaired`] if they did not run with the same seeds.
    pub fn of(judged: &Standing, other: &Standing) -> Result<Self, TrackError> {
        let seeds = |standing: &Standing| standing.records.keys().copied().collect::<Vec<u64>>();
        if seeds(judged) != seeds(other) {
            return Err(TrackError::Unpaired {
                judged: judged.entrant.name(),
                seeds: seeds(judged),
                other: other.entrant.name(),
                others: seeds(other),
            });
        }
        let pairs = |figure: &dyn Fn(&Standing) -> BTreeMap<u64, f64>| -> Vec<f64> {
            let (one, two) = (figure(judged), figure(other));
            one.iter().map(|(seed, value)| value - two[seed]).collect()
        };
        Ok(Self {
            part: other.part,
            cell: other.cell,
            other: other.entrant,
            accuracy_points: Difference::of(&pairs(&Standing::accuracies), Better::More),
            energy_mj: Difference::of(&pairs(&Standing::energies), Better::Less),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ahead_is_said_only_where_zero_is_excluded_and_the_sign_is_right() {
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
}
