//! Aggregation rules, from updates to the next global model: two averages, four rules that tolerate a
//! minority of hostile clients, and [`trust`], which judges every update by samples of the base station's own.
//!
//! Sums run in client order and in double precision, so the result depends neither on the order of
//! arrival nor on the number of threads. Parameters must be finite; callers refuse other updates.

mod clip;
mod krum;
mod mean;
mod nova;
mod trimmed;
pub mod trust;

/// A participant's update: its samples D_i, epochs tau_i and model theta_i.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug)]
pub struct Contribution<'a> {
    pub samples: u32,
    pub epochs: u32,
    pub model: &'a [f32],
    /// Factor s_i on its movement, normally 1: the rules use theta_0 + s_i (theta_i - theta_0).
    pub scale: f64,
    /// Factor on its weight, normally 1; only [`Rule::Mean`] and [`Rule::Nova`] weigh by it.
    pub trust: f64,
}

impl Contribution<'_> {
    /// Returns theta_0 + s_i (theta_i - theta_0), where theta_0 is `start`.
    fn values(&self, start: &[f32]) -> impl Iterator<Item = f64> {
        let scale = self.scale;
        self.model.iter().zip(start).map(move |(&value, &origin)| {
            let (value, origin) = (f64::from(value), f64::from(origin));
            if scale == 1.0 {
                value
            } else {
                origin + scale * (value - origin)
            }
        })
    }

    /// Returns D_i times the factor on it.
    fn weight(&self) -> f64 {
        f64::from(self.samples) * self.trust
    }

    /// Returns |s_i (theta_i - theta_0)|, where theta_0 is `start`.
    #[must_use]
    pub fn length(&self, start: &[f32]) -> f64 {
        let origin = start.iter().map(|&value| f64::from(value));
        let model = self.model.iter().map(|&value| f64::from(value));
        self.scale * distance_squared(model, origin).sqrt()
    }
}

/// A rule that aggregates updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The mean, weighted by samples.
    Mean,
    /// FedNova's mean: updates are divided by their epochs first.
    Nova,
    /// The mean of updates, of which none is longer than `factor` times the round's median length.
    #[allow(missing_docs)]
    Clip { factor: f64 },
    /// The median of each parameter.
    Median,
    /// The mean of each parameter without its `hostile` largest and smallest values.
    #[allow(missing_docs)]
    Trimmed { hostile: usize },
    /// The model with the closest neighbours, where up to `hostile` clients are hostile.
    #[allow(missing_docs)]
    Krum { hostile: usize },
}

impl Rule {
    /// Returns the smallest number of updates that the rule can aggregate.
    #[must_use]
    pub const fn needs(self) -> usize {
        match self {
            Self::Mean | Self::Nova => 1,
            Self::Clip { .. } | Self::Median => 3,
            Self::Trimmed { hostile } => hostile.saturating_mul(2).saturating_add(1),
            Self::Krum { hostile } => hostile.saturating_mul(2).saturating_add(3),
        }
    }

    /// Returns the next global model in single precision, or `start` if there is no
    /// [target](Self::target).
    ///
    /// # Panics
    /// If models differ in length.
    ///
    /// # Examples
    /// ```
    /// use gleaner_learn::aggregate::{Contribution, Rule};
    ///
    /// let update = |model| Contribution { samples: 100, epochs: 1, model, scale: 1.0, trust: 1.0 };
    /// let updates = [update(&[1.0]), update(&[1.5]), update(&[900.0])];
    /// assert_eq!(Rule::Median.aggregate(&[0.0], &updates), [1.5]);
    /// // Krum needs five updates to tolerate one hostile client: the model stays.
    /// assert_eq!(Rule::Krum { hostile: 1 }.aggregate(&[0.0], &updates), [0.0]);
    /// ```
    #[must_use]
    pub fn aggregate(self, start: &[f32], contributions: &[Contribution<'_>]) -> Vec<f32> {
        match self.target(start, contributions) {
            Some(target) => target.into_iter().map(|value| value as f32).collect(),
            None => start.to_vec(),
        }
    }

    /// Returns the [target](Self::target) less `start`.
    ///
    /// # Panics
    /// If models differ in length.
    #[must_use]
    pub fn movement(self, start: &[f32], contributions: &[Contribution<'_>]) -> Option<Vec<f64>> {
        let mut target = self.target(start, contributions)?;
        for (value, &origin) in target.iter_mut().zip(start) {
            *value -= f64::from(origin);
        }
        Some(target)
    }

    /// Returns the aggregated model in double precision; `None` if there are fewer contributions than
    /// the rule [needs](Self::needs), where hostile ones may be the majority, or if none has samples and trust.
    ///
    /// # Panics
    /// If models differ in length.
    #[must_use]
    pub fn target(self, start: &[f32], contributions: &[Contribution<'_>]) -> Option<Vec<f64>> {
        let alike = |c: &Contribution<'_>| c.model.len() == start.len();
        assert!(
            contributions.iter().all(alike),
            "models of one round have one length"
        );
        let weightless = contributions.iter().all(|c| c.weight() <= 0.0);
        if weightless || contributions.len() < self.needs() {
            return None;
        }
        Some(match self {
            Self::Mean => mean::target(start, contributions),
            Self::Nova => nova::target(start, contributions),
            Self::Clip { factor } => clip::target(start, contributions, factor),
            Self::Median => trimmed::median(start, contributions),
            Self::Trimmed { hostile } => trimmed::trimmed(start, contributions, hostile),
            Self::Krum { hostile } => krum::target(start, contributions, hostile),
        })
    }
}

/// Returns theta_0 + sum w_i s_i (theta_i - theta_0) with the weights w_i.
fn moved(start: &[f32], contributions: &[Contribution<'_>], weights: &[f64]) -> Vec<f64> {
    let mut moved = step(start, contributions, weights);
    for (value, &origin) in moved.iter_mut().zip(start) {
        *value += f64::from(origin);
    }
    moved
}

/// Returns sum w_i s_i (theta_i - theta_0) with the weights w_i.
pub(crate) fn step(start: &[f32], contributions: &[Contribution<'_>], weights: &[f64]) -> Vec<f64> {
    let mut step = vec![0.0f64; start.len()];
    for (contribution, weight) in contributions.iter().zip(weights) {
        let scale = weight * contribution.scale;
        for ((sum, &value), &origin) in step.iter_mut().zip(contribution.model).zip(start) {
            *sum += scale * (f64::from(value) - f64::from(origin));
        }
    }
    step
}

/// Returns the weights w~_i = D_i / sum D_j of a round, where every D_i is multiplied by its trust.
fn weights(contributions: &[Contribution<'_>]) -> Vec<f64> {
    let weights = contributions.iter().map(Contribution::weight);
    let total: f64 = weights.clone().sum();
    weights.map(|weight| weight / total).collect()
}

/// Returns |a - b|.
#[must_use]
pub fn distance(a: &[f32], b: &[f32]) -> f64 {
    let wide = |&value: &f32| f64::from(value);
    distance_squared(a.iter().map(wide), b.iter().map(wide)).sqrt()
}

/// Returns |a - b|^2.
fn distance_squared(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> f64 {
    a.zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Returns the model whose parameters are `choose` of their values in ascending order.
fn by_parameter(
    start: &[f32],
    contributions: &[Contribution<'_>],
    choose: impl Fn(&[f64]) -> f64,
) -> Vec<f64> {
    let mut models: Vec<_> = contributions.iter().map(|c| c.values(start)).collect();
    let mut values = Vec::with_capacity(models.len());
    (0..start.len())
        .map(|_| {
            values.clear();
            values.extend(models.iter_mut().filter_map(Iterator::next));
            values.sort_unstable_by(f64::total_cmp);
            choose(&values)
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
            scale: 1.0,
            trust: 1.0,
        }
    }

    /// Rounds a target as [`Rule::aggregate`] does.
    pub(super) fn rounded(target: Vec<f64>) -> Vec<f32> {
        target.into_iter().map(|value| value as f32).collect()
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
    fn updates_without_samples_have_no_target() {
        let empty = vec![one(0, 1, &[9.0]); 5];
        let mut round = empty.clone();
        round[3].samples = 1;
        for rule in ALL {
            assert_eq!(rule.target(&[1.0], &empty), None, "{rule:?}");
            assert_eq!(rule.target(&[1.0], &round), Some(vec![9.0]), "{rule:?}");
        }
    }

    #[test]
    fn a_movement_leads_from_the_start_to_the_target() {
        let round = [one(1, 1, &[2.0]), one(1, 1, &[3.0]), one(2, 1, &[7.0])];
        assert_eq!(Rule::Mean.movement(&[1.0], &round), Some(vec![3.75]));
        assert_eq!(Rule::Median.movement(&[1.0], &round), Some(vec![2.0]));
        assert_eq!(Rule::Median.movement(&[1.0], &round[..2]), None);
    }

    #[test]
    fn every_rule_applies_the_scale() {
        let start = [1.0, -2.0, 0.5];
        let models: Vec<Vec<f32>> = (0..7)
            .map(|i| start.iter().map(|x| x + 0.25 * (i as f32 - 2.0)).collect())
            .collect();
        let scales = [1.0, 0.5, 2.0, 0.25, 1.0, 0.5, 4.0];
        let stands_for: Vec<Vec<f32>> = (models.iter().zip(scales))
            .map(|(model, scale)| {
                let moved = |(x, origin): (&f32, &f32)| origin + scale as f32 * (x - origin);
                model.iter().zip(&start).map(moved).collect()
            })
            .collect();
        let scaled: Vec<_> = (models.iter().zip(scales))
            .map(|(model, scale)| Contribution {
                scale,
                ..one(10, 1, model)
            })
            .collect();
        let plain: Vec<_> = stands_for.iter().map(|model| one(10, 1, model)).collect();
        for rule in ALL {
            let (found, expected) = (rule.target(&start, &scaled), rule.target(&start, &plain));
            for (found, expected) in found.unwrap().iter().zip(expected.unwrap()) {
                assert!((found - expected).abs() < 1e-12, "{rule:?}: {found}");
            }
        }
    }

    #[test]
    fn one_hostile_client_of_five_moves_both_means_and_no_robust_rule() {
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
