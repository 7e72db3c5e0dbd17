//! The norm bound: an update much longer than the clients' last ones is shortened, not dropped.
//!
//! Sun et al., "Can you really backdoor federated learning?", 2019, bound updates to a fixed length. Here
//! the bound follows the median over all clients of their last lengths, so that it holds in rounds of
//! one to three participants, whose own median says little, and no minority moves it.

use gleaner_learn::aggregate::distance;
use serde::{Deserialize, Serialize};

use super::anomaly::{Heard, median};
use super::record::Anomaly;

/// Least number of clients whose lengths make a median: of two that differ, either may be wrong.
const FEWEST: usize = 3;

/// The length per epoch of every client's last update, as bounded; 0 before its first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Lengths(Vec<f64>);

/// What the bound makes of one update.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bounded {
    /// Factor on the update, below 1 if it is too long.
    pub(super) scale: f64,
    pub(super) anomaly: Option<Anomaly>,
}

impl Lengths {
    /// Returns the lengths before any update.
    pub(super) fn none(clients: usize) -> Self {
        Self(vec![0.0; clients])
    }

    /// Notes the lengths of a round's updates and returns the factor on each: min(1, b / l_i), where
    /// l_i = |theta_i - theta_0| / tau_i, b = `factor` r, and r is the median over all clients of their
    /// last l_j, this round's included. Clients that have not moved so far do not count.
    ///
    /// Until three clients count, as in a first round with few participants, an update may be as long as
    /// the model itself: b = |theta_0| / tau_i. A model of zeros has no such bound.
    pub(super) fn bound(
        &mut self,
        factor: f64,
        start: &[f32],
        heard: &[Heard<'_>],
    ) -> Vec<Bounded> {
        let epochs = |one: &Heard<'_>| f64::from(one.epochs.max(1));
        let lengths: Vec<f64> = heard
            .iter()
            .map(|one| distance(&one.update.model, start) / epochs(one))
            .collect();
        for (one, &length) in heard.iter().zip(&lengths) {
            self.0[one.client.index()] = length;
        }
        let moving = || self.0.iter().copied().filter(|length| *length > 0.0);
        let usual = median(moving()).filter(|_| moving().count() >= FEWEST);
        let model = distance(start, &vec![0.0; start.len()]);
        let bound = |(one, &length): (&Heard<'_>, &f64)| {
            let limit = usual.map_or(model / epochs(one), |usual| factor * usual);
            if limit <= 0.0 || length <= limit {
                return Bounded {
                    scale: 1.0,
                    anomaly: None,
                };
            }
            let what = match usual {
                Some(usual) => format!(
                    "an update {:.1} times as long as the clients' median, shortened to {factor} times",
                    length / usual
                ),
                None => format!(
                    "an update {:.1} times as long as the model, shortened to its length",
                    length / limit
                ),
            };
            Bounded {
                scale: limit / length,
                anomaly: Some(Anomaly {
                    client: one.client,
                    what,
                }),
            }
        };
        let bounded: Vec<Bounded> = heard.iter().zip(&lengths).map(bound).collect();
        for ((one, length), bounded) in heard.iter().zip(lengths).zip(&bounded) {
            self.0[one.client.index()] = bounded.scale * length;
        }
        bounded
    }
}
