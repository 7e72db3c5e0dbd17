//! Trust from samples of the base station's own: an update counts by its cosine to the station's.
//!
//! Cao et al., "FLTrust: Byzantine-robust federated learning via trust bootstrapping", NDSS 2021. It
//! compares no client with another, so that it needs neither a majority nor many participants.

use super::distance_squared;

/// The verdict on an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The cosine of the angle between the update and that of the base station.
    pub cosine: f64,
    /// The length of the station's update over that of the client's.
    pub scale: f64,
}

impl Verdict {
    /// Returns the trust score TS_i = max(0, cosine).
    ///
    /// Deviation: the paper's weights are TS_i alone, ours are D_i TS_i as those of the mean.
    #[must_use]
    pub const fn trust(self) -> f64 {
        self.cosine.max(0.0)
    }
}

/// Compares the update of a client with `root`, the model that the base station trained from the same
/// `start`: with g_i = theta_i - theta_0, the cosine is g_i g_0 / (|g_i| |g_0|) and the scale
/// |g_0| / |g_i|. An update that does not move has neither.
#[must_use]
pub fn judge(start: &[f32], root: &[f32], model: &[f32]) -> Verdict {
    let wide = |values: &'_ [f32]| {
        values
            .iter()
            .map(|&value| f64::from(value))
            .collect::<Vec<_>>()
    };
    let (start, root, model) = (wide(start), wide(root), wide(model));
    let length = |end: &[f64]| distance_squared(end.iter().copied(), start.iter().copied()).sqrt();
    let (own, other) = (length(&root), length(&model));
    if own <= 0.0 || other <= 0.0 {
        return Verdict {
            cosine: 0.0,
            scale: 0.0,
        };
    }
    let pairs = root.iter().zip(&model).zip(&start);
    let product: f64 = pairs
        .map(|((root, model), start)| (root - start) * (model - start))
        .sum();
    Verdict {
        cosine: product / (own * other),
        scale: own / other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::one;
    use super::super::{Contribution, Rule};
    use super::*;

    const START: [f32; 2] = [1.0, 1.0];
    /// The station moved by (0, 2).
    const ROOT: [f32; 2] = [1.0, 3.0];

    #[test]
    fn an_update_is_as_long_as_the_stations_and_weighs_by_its_cosine() {
        let models = [[1.0f32, 2.0], [4.0, 5.0], [1.0, -99.0]];
        let verdicts = models.map(|model| judge(&START, &ROOT, &model));
        assert_eq!(verdicts.map(|verdict| verdict.scale), [2.0, 0.4, 0.02]);
        assert_eq!(verdicts.map(Verdict::trust), [1.0, 0.8, 0.0]);
        let judged: Vec<_> = (models.iter().zip(verdicts))
            .map(|(model, verdict)| Contribution {
                scale: verdict.scale,
                trust: verdict.trust(),
                ..one(10, 1, model)
            })
            .collect();
        // ((0, 2) + 0.8 (1.2, 1.6)) / 1.8 from the start.
        let next = Rule::Mean.target(&START, &judged).unwrap();
        assert!((next[0] - (1.0 + 0.96 / 1.8)).abs() < 1e-12, "{next:?}");
        assert!((next[1] - (1.0 + 3.28 / 1.8)).abs() < 1e-12, "{next:?}");
        assert_eq!(Rule::Mean.target(&START, &judged[2..]), None);
    }

    #[test]
    fn what_does_not_move_has_no_trust() {
        assert_eq!(judge(&START, &ROOT, &START).trust(), 0.0);
        assert_eq!(judge(&START, &START, &ROOT).trust(), 0.0);
    }
}
