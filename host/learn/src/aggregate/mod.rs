//! From updates to the next global model: one rule per file, two that average and four that a
//! minority of hostile clients cannot lead astray.
//!
//! Sums run in client order and in double precision, so the result does not depend on who
//! arrived first or on how many threads trained. Every rule takes finite parameters; whoever
//! receives updates refuses others first.

mod clip;
mod krum;
mod mean;
mod median;
mod nova;
mod trimmed;

/// One participant's contribution.
#[derive(Clone, Copy, Debug)]
pub struct Contribution<'a> {
    /// Its samples D_i.
    pub samples: u32,
    /// Its epochs tau_i.
    pub epochs: u32,
    /// Its model.
    pub model: &'a [f32],
}

/// How updates become a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The mean, weighted by samples.
    Mean,
    /// FedNova's mean: updates are divided by their epochs first.
    Nova,
    /// The mean of updates none of which is much longer than the others.
    Clip {
        /// The longest update, over the median length of the round.
        factor: f64,
    },
    /// The median of each parameter.
    Median,
    /// The mean of each parameter without its extremes.
    Trimmed {
        /// Values left out at either end.
        hostile: usize,
    },
    /// The model with the closest neighbours.
    Krum {
        /// Clients that may be hostile.
        hostile: usize,
    },
}

impl Rule {
    /// Returns the fewest updates the rule means anything for.
    #[must_use]
    pub const fn needs(self) -> usize {
        match self {
            Self::Mean | Self::Nova => 1,
            Self::Clip { .. } | Self::Median => 3,
            Self::Trimmed { hostile } => hostile.saturating_mul(2).saturating_add(1),
            Self::Krum { hostile } => hostile.saturating_mul(2).saturating_add(3),
        }
    }

    /// Returns the next global model. It is the last one where there are fewer contributions than
    /// the rule [needs](Self::needs): among those the hostile ones may be the majority.
    ///
    /// # Panics
    /// If models differ in length.
    #[must_use]
    pub fn aggregate(self, start: &[f32], contributions: &[Contribution<'_>]) -> Vec<f32> {
        let alike = |c: &Contribution<'_>| c.model.len() == start.len();
        assert!(
            contributions.iter().all(alike),
            "models of one round have one length"
        );
        if contributions.len() < self.needs() {
            return start.to_vec();
        }
        match self {
            Self::Mean => mean::aggregate(start, contributions),
            Self::Nova => nova::aggregate(start, contributions),
            Self::Clip { factor } => clip::aggregate(start, contributions, factor),
            Self::Median => median::aggregate(contributions),
            Self::Trimmed { hostile } => trimmed::aggregate(contributions, hostile),
            Self::Krum { hostile } => krum::aggregate(contributions, hostile),
        }
    }
}

/// Returns theta_0 + sum s_i (theta_i - theta_0) with the scales s_i.
fn moved(start: &[f32], contributions: &[Contribution<'_>], scales: &[f64]) -> Vec<f32> {
    let mut step = vec![0.0f64; start.len()];
    for (contribution, scale) in contributions.iter().zip(scales) {
        for ((sum, &value), &origin) in step.iter_mut().zip(contribution.model).zip(start) {
            *sum += scale * (f64::from(value) - f64::from(origin));
        }
    }
    start
        .iter()
        .zip(step)
        .map(|(&origin, step)| (f64::from(origin) + step) as f32)
        .collect()
}

/// Returns the weights w~_i = D_i / sum D_j of a round.
fn weights(contributions: &[Contribution<'_>]) -> Vec<f64> {
    let samples = contributions.iter().map(|c| f64::from(c.samples));
    let total: f64 = samples.clone().sum();
    samples.map(|samples| samples / total).collect()
}

/// Returns |a - b|^2.
fn distance_squared(a: &[f32], b: &[f32]) -> f64 {
    let squares = a.iter().zip(b).map(|(&a, &b)| {
        let difference = f64::from(a) - f64::from(b);
        difference * difference
    });
    squares.sum()
}

/// Makes a model of what `choose` makes of each parameter's values, in ascending order.
fn by_parameter(contributions: &[Contribution<'_>], choose: impl Fn(&[f32]) -> f64) -> Vec<f32> {
    let length = contributions.first().map_or(0, |first| first.model.len());
    let mut values = vec![0.0f32; contributions.len()];
    (0..length)
        .map(|at| {
            for (value, contribution) in values.iter_mut().zip(contributions) {
                *value = contribution.model[at];
            }
            values.sort_unstable_by(f32::total_cmp);
            choose(&values) as f32
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn one(samples: u32, epochs: u32, model: &[f32]) -> Contribution<'_> {
        Contribution {
            samples,
            epochs,
            model,
        }
    }

    const ALL: [Rule; 6] = [
        Rule::Mean,
        Rule::Nova,
        Rule::Clip { factor: 1.0 },
        Rule::Median,
        Rule::Trimmed { hostile: 1 },
        Rule::Krum { hostile: 1 },
    ];

    #[test]
    fn too_few_change_nothing() {
        let start = [1.5, -2.0];
        for rule in ALL {
            let few = vec![one(1, 1, &[9.0, 9.0]); rule.needs() - 1];
            assert_eq!(rule.aggregate(&start, &few), start, "{rule:?}");
        }
        let absurd = Rule::Krum {
            hostile: usize::MAX,
        };
        assert_eq!(absurd.aggregate(&start, &[one(1, 1, &[0.0, 0.0])]), start);
    }

    #[test]
    fn clients_that_agree_are_followed_by_every_rule() {
        let agreed = vec![one(70, 3, &[2.0, -4.0]); 5];
        for rule in ALL {
            assert_eq!(
                rule.aggregate(&[1.0, 1.0], &agreed),
                [2.0, -4.0],
                "{rule:?}"
            );
        }
    }

    #[test]
    fn one_liar_of_five_moves_no_robust_rule_beyond_the_honest_and_moves_both_means() {
        let honest = [[1.0, 1.2], [1.1, 0.9], [0.9, 1.0], [1.2, 1.1]];
        for lie in [[1e6, 1e6], [-1e6, 1e6], [3e17, -3e17], [-100.0, -100.0]] {
            let mut round: Vec<_> = honest.iter().map(|model| one(50, 2, model)).collect();
            round.insert(2, one(50, 2, &lie));
            for rule in ALL {
                let next = rule.aggregate(&[0.0, 0.0], &round);
                let near = next.iter().all(|x| (0.5..=1.3).contains(x));
                let averages = matches!(rule, Rule::Mean | Rule::Nova);
                assert_eq!(near, !averages, "{rule:?}: {lie:?} leads to {next:?}");
            }
        }
    }
}
