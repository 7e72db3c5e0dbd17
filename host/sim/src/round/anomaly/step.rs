//! Anomalous steps: much longer than those of the others, or opposed to them.

use super::{Heard, median};
use crate::round::record::Anomaly;

/// Largest accepted ratio of an epoch's step to the others' median. How often honest clients with very
/// different data exceed it is measured in `docs/results/poisoning.md`.
const LONGEST: f64 = 5.0;

/// The end of the description of an overlong update.
pub(super) const LONG: &str = "times as long as the others' median";

/// The mean cosine to the others below which an update points against them.
const AGAINST: f64 = -0.3;

/// Least number of others to compare an update with: of two that differ, either may be wrong.
const FEWEST_OTHERS: usize = 2;

/// Finds updates that are far longer than those of the others: of this round, and of earlier ones
/// where a client takes no part in it. Lengths are |theta_i - theta_0| / (eta tau_i), which is the
/// unit of `norms`.
pub(super) fn overlong(
    norms: &[f64],
    eta: f64,
    start: &[f32],
    heard: &[Heard<'_>],
) -> Vec<Anomaly> {
    let mut lengths = norms.to_vec();
    for one in heard {
        let squares = steps(start, one).map(|step| step * step);
        lengths[one.client.index()] =
            squares.sum::<f64>().sqrt() / (eta * f64::from(one.epochs.max(1)));
    }
    let anomaly = |one: &Heard<'_>| {
        let others = (lengths.iter().enumerate())
            .filter(|(client, length)| *client != one.client.index() && **length > 0.0)
            .map(|(_, length)| *length);
        if others.clone().count() < FEWEST_OTHERS {
            return None;
        }
        let times = lengths[one.client.index()] / median(others)?;
        (times > LONGEST).then(|| Anomaly {
            client: one.client,
            what: format!("an update {times:.1} {LONG}"),
        })
    };
    heard.iter().filter_map(anomaly).collect()
}

/// Finds updates that point against the others of the round, all counting alike: the mean of the
/// cosines to them, (1 / (n - 1)) sum_{j != i} u_i u_j with unit vectors u, is below a limit.
pub(super) fn opposed(start: &[f32], heard: &[Heard<'_>]) -> Vec<Anomaly> {
    if heard.len() <= FEWEST_OTHERS {
        return Vec::new();
    }
    let mut sum = vec![0.0f64; start.len()];
    let lengths: Vec<f64> = heard
        .iter()
        .map(|one| {
            let length = steps(start, one)
                .map(|step| step * step)
                .sum::<f64>()
                .sqrt();
            if length > 0.0 {
                let unit = steps(start, one).map(|step| step / length);
                sum.iter_mut()
                    .zip(unit)
                    .for_each(|(sum, unit)| *sum += unit);
            }
            length
        })
        .collect();
    let others = (heard.len() - 1) as f64;
    let anomaly = |(one, &length): (&Heard<'_>, &f64)| {
        if length <= 0.0 {
            return None;
        }
        let product: f64 = steps(start, one)
            .zip(&sum)
            .map(|(step, sum)| step * sum)
            .sum();
        // The sum has the update's own unit vector in it.
        let cosine = (product / length - 1.0) / others;
        (cosine < AGAINST).then(|| Anomaly {
            client: one.client,
            what: format!("an update against the others': mean cosine {cosine:.2}"),
        })
    };
    heard.iter().zip(&lengths).filter_map(anomaly).collect()
}

fn steps<'a>(start: &'a [f32], one: &'a Heard<'_>) -> impl Iterator<Item = f64> + 'a {
    let model = one.update.model.iter();
    model
        .zip(start)
        .map(|(&x, &origin)| f64::from(x) - f64::from(origin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientId;
    use crate::round::Update;

    fn updates(models: &[[f32; 2]]) -> Vec<Update> {
        let update = |model: &[f32; 2]| Update {
            model: model.to_vec(),
            loss_before: 1.0,
            loss_after: None,
        };
        models.iter().map(update).collect()
    }

    fn heard(updates: &mut [Update], epochs: u32) -> Vec<Heard<'_>> {
        let one = |(client, update)| Heard {
            client: ClientId::at(client),
            epochs,
            update,
        };
        updates.iter_mut().enumerate().map(one).collect()
    }

    fn clients(anomalies: &[Anomaly]) -> Vec<usize> {
        anomalies
            .iter()
            .map(|anomaly| anomaly.client.index())
            .collect()
    }

    #[test]
    fn one_of_three_that_sends_a_hundredfold_is_named_and_the_honest_are_not() {
        let mut updates = updates(&[[1.0, 0.2], [90.0, 20.0], [0.8, 0.3]]);
        let heard = heard(&mut updates, 1);
        let anomalies = overlong(&[0.0; 3], 1.0, &[0.0, 0.0], &heard);
        assert_eq!(clients(&anomalies), [1]);
        assert!(anomalies[0].what.contains("times as long"), "{anomalies:?}");
        assert_eq!(opposed(&[0.0, 0.0], &heard), []);
    }

    #[test]
    fn a_client_alone_in_its_round_is_measured_by_earlier_rounds() {
        let mut updates = updates(&[[9.0, 0.0]]);
        let heard = heard(&mut updates, 2);
        let longer = |norms: &[f64]| clients(&overlong(norms, 0.5, &[0.0, 0.0], &heard));
        assert_eq!(longer(&[9.0, 1.0, 1.2, 0.9]), [0]);
        assert_eq!(
            longer(&[9.0, 2.0, 2.2, 1.9]),
            [0usize; 0],
            "9 is not 5 times 2"
        );
        assert_eq!(
            longer(&[9.0, 1.0, 0.0, 0.0]),
            [0usize; 0],
            "one other proves nothing"
        );
    }

    #[test]
    fn the_one_that_points_the_other_way_is_named_whatever_its_length() {
        for length in [0.01, 1.0, 300.0] {
            let mut updates = updates(&[[1.0, 0.2], [0.8, 0.3], [-length, -0.2 * length]]);
            let heard = heard(&mut updates, 1);
            assert_eq!(clients(&opposed(&[0.0, 0.0], &heard)), [2], "{length}");
        }
    }

    #[test]
    fn of_two_that_disagree_neither_is_named() {
        let mut updates = updates(&[[1.0, 0.0], [-1.0, 0.0]]);
        assert_eq!(opposed(&[0.0, 0.0], &heard(&mut updates, 1)), []);
    }

    #[test]
    fn clients_that_stand_still_disturb_nobody() {
        let mut updates = updates(&[[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.1]]);
        let heard = heard(&mut updates, 1);
        assert_eq!(opposed(&[0.0, 0.0], &heard), []);
        assert_eq!(overlong(&[0.0; 4], 1.0, &[0.0, 0.0], &heard), []);
    }
}
