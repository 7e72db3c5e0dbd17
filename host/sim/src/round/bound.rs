//! The norm bound: an update much longer than the clients' usual ones is bounded to their length, not
//! dropped.
//!
//! Sun et al., "Can you really backdoor federated learning?", 2019, bound updates to a fixed length. Here
//! the bound is a multiple of the median over all clients of their lengths so far. It holds in rounds of
//! one to three participants, whose own median says little, and no minority of clients moves it.

use gleaner_learn::aggregate::distance;
use serde::{Deserialize, Serialize};

use super::anomaly::{Heard, median};
use super::record::Anomaly;

/// Least number of clients whose lengths make a median: of two that differ, either may be wrong.
const FEWEST: usize = 3;

/// Share of a client's length that is kept until its next update. Gradients of honest clients with few
/// classes shrink and grow within some ten rounds; a length that outlasts them keeps the median steady.
const KEPT: f64 = 0.9;

/// The length of every client's updates so far; 0 before its first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Lengths(Vec<f64>);

/// Result of the bound for one update.
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

    /// Notes the lengths of a round's updates and returns the factor on each.
    ///
    /// 1. l_i = |theta_i - theta_0| / sqrt(tau_i): tau steps lead between 1 and tau times as far as one.
    /// 2. m_i <- max(0.9 m_i, l_i) for the participants; r = the median of all m_j above 0 (of two the
    ///    lower).
    /// 3. An update with l_i > F r counts as one of length r: its factor is r / l_i, and
    ///    m_i <- max(0.9 m_i, F r) in place of step 2. All others count in full.
    ///
    /// Until three clients have moved, as in a first round with few participants, F r is the length of
    /// the model, |theta_0| / sqrt(tau_i). A model of zeros bounds nothing.
    pub(super) fn bound(
        &mut self,
        factor: f64,
        start: &[f32],
        heard: &[Heard<'_>],
    ) -> Vec<Bounded> {
        let steps = |one: &Heard<'_>| f64::from(one.epochs.max(1)).sqrt();
        let length = |one: &Heard<'_>| distance(&one.update.model, start) / steps(one);
        let lengths: Vec<f64> = heard.iter().map(length).collect();
        let before = self.0.clone();
        let mut note = |one: &Heard<'_>, length: f64| {
            let client = one.client.index();
            self.0[client] = (KEPT * before[client]).max(length);
        };
        for (one, &length) in heard.iter().zip(&lengths) {
            note(one, length);
        }
        let usual = self.usual();
        let model = start.iter().map(|&x| f64::from(x) * f64::from(x));
        let model = model.sum::<f64>().sqrt();
        let mut bounded = Vec::with_capacity(heard.len());
        for (one, length) in heard.iter().zip(lengths) {
            let usual_here = usual.unwrap_or(model / factor / steps(one));
            let limit = factor * usual_here;
            if limit <= 0.0 || length <= limit {
                bounded.push(Bounded {
                    scale: 1.0,
                    anomaly: None,
                });
                continue;
            }
            let client = one.client;
            self.0[client.index()] = (KEPT * before[client.index()]).max(limit);
            let what = match usual {
                Some(usual) => format!(
                    "an update {:.1} times as long as the clients' median, bounded to that",
                    length / usual
                ),
                None => format!(
                    "an update {:.1} times as long as the model, bounded to 1/{factor} of that",
                    length / limit
                ),
            };
            bounded.push(Bounded {
                scale: usual_here / length,
                anomaly: Some(Anomaly { client, what }),
            });
        }
        bounded
    }

    /// Returns the median r, once enough clients have moved.
    fn usual(&self) -> Option<f64> {
        let moved = || self.0.iter().copied().filter(|length| *length > 0.0);
        median(moved()).filter(|_| moved().count() >= FEWEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientId;
    use crate::round::Update;

    const FACTOR: f64 = 8.0;

    /// Bounds a round of (client, epochs, length of the update) from a model of length 5; returns the
    /// lengths that count.
    fn round(lengths: &mut Lengths, updates: &[(usize, u32, f32)]) -> Vec<f64> {
        let start = [3.0, 4.0];
        let mut models: Vec<Update> = (updates.iter())
            .map(|&(_, _, length)| Update {
                model: vec![3.0 + length, 4.0],
                loss_before: 1.0,
                loss_after: None,
            })
            .collect();
        let heard: Vec<Heard<'_>> = (models.iter_mut().zip(updates))
            .map(|(update, &(client, epochs, _))| Heard {
                client: ClientId::at(client),
                epochs,
                update,
            })
            .collect();
        let bounded = lengths.bound(FACTOR, &start, &heard);
        for (one, (client, ..)) in bounded.iter().zip(updates) {
            let named = one.anomaly.iter().map(|it| it.client.index());
            let expected = (one.scale < 1.0).then_some(*client);
            assert_eq!(named.collect::<Vec<_>>(), Vec::from_iter(expected));
        }
        let counts =
            |(one, &(.., length)): (&Bounded, &(usize, u32, f32))| one.scale * f64::from(length);
        bounded.iter().zip(updates).map(counts).collect()
    }

    #[test]
    fn one_participant_a_round_is_measured_by_the_clients_of_earlier_rounds() {
        let mut lengths = Lengths::none(4);
        for client in 0..3 {
            assert_eq!(round(&mut lengths, &[(client, 1, 0.5)]), [0.5]);
        }
        assert_eq!(round(&mut lengths, &[(3, 1, 3.75)]), [3.75], "7.5 times");
        assert_eq!(round(&mut lengths, &[(3, 1, 50.0)]), [0.5], "100 times");
        // A liar that repeats itself does not raise the median.
        for _ in 0..20 {
            assert_eq!(round(&mut lengths, &[(3, 1, 50.0)]), [0.5]);
        }
    }

    #[test]
    fn a_minority_in_the_first_round_is_bounded_whatever_its_length() {
        let mut lengths = Lengths::none(7);
        let mut updates: Vec<_> = (0..7).map(|client| (client, 4, 1.0)).collect();
        (updates[0].2, updates[5].2, updates[6].2) = (100.0, 1e6, 1e-6);
        let counted = round(&mut lengths, &updates);
        assert!((counted[0] - 1.0).abs() < 1e-9 && (counted[5] - 1.0).abs() < 1e-9);
        assert_eq!(counted[1..5], [1.0; 4]);
    }

    #[test]
    fn before_three_clients_have_moved_an_update_may_be_as_long_as_the_model() {
        let mut lengths = Lengths::none(7);
        assert_eq!(round(&mut lengths, &[(0, 1, 4.5)]), [4.5]);
        let counted = round(&mut lengths, &[(6, 1, 50.0)]);
        assert!((counted[0] - 5.0 / FACTOR).abs() < 1e-6, "{counted:?}");
        let nothing = Lengths::none(1).bound(FACTOR, &[0.0], &[]);
        assert_eq!(nothing, []);
    }

    #[test]
    fn lengths_that_grow_together_are_followed() {
        let mut lengths = Lengths::none(3);
        let mut last = 0.0;
        for number in 0..12u32 {
            let updates = [(number as usize % 3, 1, 0.01 * 30f32.powi(number as i32 / 3))];
            last = round(&mut lengths, &updates)[0] / f64::from(updates[0].2);
        }
        assert!(last > 0.001, "{last}");
        for number in 0..9 {
            last = round(&mut lengths, &[(number % 3, 1, 270.0)])[0];
        }
        assert_eq!(last, 270.0);
    }

    #[test]
    fn longer_training_may_lead_further() {
        let mut lengths = Lengths::none(4);
        round(&mut lengths, &[(0, 1, 0.1), (1, 1, 0.1), (2, 1, 0.1)]);
        assert_eq!(round(&mut lengths.clone(), &[(3, 25, 3.875)]), [3.875]);
        let counted = round(&mut lengths, &[(3, 25, 4.1)]);
        assert!((counted[0] - 0.5).abs() < 1e-6, "{counted:?}");
    }
}
