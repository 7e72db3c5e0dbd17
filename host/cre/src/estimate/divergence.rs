//! Divergence delta_i of each client's gradient from the global one, by three rules.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, FromRepr, IntoStaticStr, VariantArray};

use super::{distance, norm, norm_of};

/// Rule for the divergence delta of a client's data: Eq. (17c) as printed, its direction part alone,
/// or the plain distance of Assumption 4.
///
/// Deviation: the printed bias, common to all clients, makes all delta_i nearly equal, which fixes
/// the choice of clients it was added to free; so the direction part alone is the default.
///
/// The numbers stand for the rules in saved states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
#[derive(Serialize, Deserialize, FromRepr)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[repr(u8)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum DivergenceRule {
    /// distance of the client's gradient, scaled to the global norm, from the global gradient
    #[default]
    Direction = 1,
    /// the printed rule: the direction part plus a common running maximum of norm differences
    Paper = 0,
    /// distance of the client's gradient from the global gradient
    Plain = 2,
}

/// Estimates delta_i round by round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Divergence {
    #[serde(with = "number")]
    rule: DivergenceRule,
    bias: f64,
}

/// Serialises a rule as its number.
mod number {
    use serde::de::{Deserialize, Deserializer, Error, Unexpected};
    use serde::ser::Serializer;

    use super::DivergenceRule;

    pub(super) fn serialize<S: Serializer>(
        rule: &DivergenceRule,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_u8(*rule as u8)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<DivergenceRule, D::Error> {
        let number = u8::deserialize(from)?;
        DivergenceRule::from_repr(number).ok_or_else(|| {
            let found = Unexpected::Unsigned(u64::from(number));
            D::Error::invalid_value(found, &"the number of a divergence rule")
        })
    }
}

impl Divergence {
    /// Returns an estimator without bias.
    #[must_use]
    pub const fn new(rule: DivergenceRule) -> Self {
        Self::with_bias(rule, 0.0)
    }

    /// Returns an estimator with the bias of earlier rounds.
    #[must_use]
    pub const fn with_bias(rule: DivergenceRule, bias: f64) -> Self {
        Self { rule, bias }
    }

    /// Returns the running bias, max over clients and rounds of | ||g_i|| - ||g|| |.
    #[must_use]
    pub const fn bias(&self) -> f64 {
        self.bias
    }

    /// Implements Eq. (17c) under the chosen rule, with g = sum w_i g_i:
    /// delta_i = bias + || (||g||/||g_i||) g_i - g ||, the latter part alone, or ||g_i - g||.
    ///
    /// A zero g_i has no direction; its direction part is ||g||.
    ///
    /// # Panics
    /// If gradients differ in length.
    pub fn estimate(&mut self, weights: &[f64], gradients: &[Vec<f64>]) -> Vec<f64> {
        let global = weighted_sum(weights, gradients);
        let global_norm = norm(&global);
        let norms: Vec<f64> = gradients.iter().map(|g| norm(g)).collect();
        let widest = norms
            .iter()
            .map(|n| (n - global_norm).abs())
            .fold(0.0, f64::max);
        self.bias = self.bias.max(widest);
        let direction = |gradient: &[f64], own_norm: f64| {
            if own_norm == 0.0 {
                return global_norm;
            }
            let scale = global_norm / own_norm;
            norm_of(gradient, &global, |x, y| scale * x - y)
        };
        gradients
            .iter()
            .zip(norms)
            .map(|(gradient, own_norm)| match self.rule {
                DivergenceRule::Paper => self.bias + direction(gradient, own_norm),
                DivergenceRule::Direction => direction(gradient, own_norm),
                DivergenceRule::Plain => distance(gradient, &global),
            })
            .collect()
    }
}

/// Returns g = sum w_i g_i.
fn weighted_sum(weights: &[f64], gradients: &[Vec<f64>]) -> Vec<f64> {
    let mut total = vec![0.0; gradients.first().map_or(0, Vec::len)];
    for (weight, gradient) in weights.iter().zip(gradients) {
        assert_eq!(
            gradient.len(),
            total.len(),
            "gradients of one model have one length"
        );
        for (sum, value) in total.iter_mut().zip(gradient) {
            *sum += weight * value;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gradients() -> Vec<Vec<f64>> {
        vec![vec![3.0, 0.0], vec![0.0, 1.0]]
    }

    #[test]
    fn plain_is_the_distance_of_assumption_4() {
        // g = (1.5, 0.5).
        let delta = Divergence::new(DivergenceRule::Plain).estimate(&[0.5, 0.5], &gradients());
        assert!((delta[0] - 2.5f64.sqrt()).abs() < 1e-15);
        assert!((delta[1] - 2.5f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn paper_is_direction_plus_a_bias_that_never_falls() {
        let mut paper = Divergence::new(DivergenceRule::Paper);
        let with_bias = paper.estimate(&[0.5, 0.5], &gradients());
        let without =
            Divergence::new(DivergenceRule::Direction).estimate(&[0.5, 0.5], &gradients());
        let bias = 3.0 - 2.5f64.sqrt();
        assert!((paper.bias() - bias).abs() < 1e-15);
        for (a, b) in with_bias.iter().zip(without) {
            assert!((a - b - bias).abs() < 1e-15);
        }
        let small = vec![vec![0.1, 0.0], vec![0.1, 0.0]];
        paper.estimate(&[0.5, 0.5], &small);
        assert!((paper.bias() - bias).abs() < 1e-15);
    }

    #[test]
    fn a_zero_gradient_gives_no_nan() {
        for &rule in DivergenceRule::VARIANTS {
            let zero = vec![vec![0.0, 0.0], vec![0.0, 0.0]];
            assert_eq!(
                Divergence::new(rule).estimate(&[0.5, 0.5], &zero),
                [0.0, 0.0]
            );
        }
    }
}
