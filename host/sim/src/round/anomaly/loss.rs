//! Reported losses within bounds: one absurd report must not decide what CRE spends.

use super::{Heard, median};
use crate::round::record::Anomaly;

/// The mean cross-entropy of guessing among ten classes, ln 10.
const GUESSING: f64 = std::f64::consts::LN_10;

/// Largest accepted ratio of a loss to the others' median or to the loss of guessing.
const LARGEST: f64 = 10.0;

/// Bounds the losses of a round. The limit follows what others report in this round and last
/// reported before it, so that all may rise together; a client's own past does not raise it, or one
/// could creep up. A loss above it counts as the limit, what is no loss as the client's last one.
pub(super) fn bound(last: &[Option<f64>], heard: &mut [Heard<'_>]) -> Vec<Anomaly> {
    let mut known = last.to_vec();
    for one in heard.iter() {
        if is_loss(one.update.loss_before) {
            known[one.client.index()] = Some(one.update.loss_before);
        }
    }
    let mut anomalies = Vec::new();
    for one in heard {
        let client = one.client;
        let others = known
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != client.index());
        let usual = median(others.filter_map(|(_, loss)| *loss))
            .unwrap_or(0.0)
            .max(GUESSING);
        let limit = LARGEST * usual;
        let instead = last[client.index()].unwrap_or(usual).min(limit);
        let mut within = |loss: f64| {
            if is_loss(loss) && loss <= limit {
                return loss;
            }
            let counts = if loss > limit { limit } else { instead };
            let what = format!("a mean loss of {loss:.6}, {counts:.6} counts");
            anomalies.push(Anomaly { client, what });
            counts
        };
        let update = &mut *one.update;
        update.loss_before = within(update.loss_before);
        update.loss_after = update.loss_after.map(within);
    }
    anomalies
}

fn is_loss(loss: f64) -> bool {
    loss.is_finite() && loss >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientId;
    use crate::round::Update;

    /// Bounds the reports (client, loss before) against the last ones.
    fn bounded(last: &[Option<f64>], reports: &[(usize, f64)]) -> (Vec<f64>, Vec<usize>) {
        let mut updates: Vec<Update> = (reports.iter())
            .map(|&(_, loss_before)| Update {
                model: Vec::new(),
                loss_before,
                loss_after: None,
            })
            .collect();
        let mut heard: Vec<Heard<'_>> = (updates.iter_mut().zip(reports))
            .map(|(update, &(client, _))| Heard {
                client: ClientId::at(client),
                epochs: 1,
                update,
            })
            .collect();
        let anomalies = bound(last, &mut heard);
        let losses = updates.iter().map(|update| update.loss_before).collect();
        (
            losses,
            anomalies
                .iter()
                .map(|anomaly| anomaly.client.index())
                .collect(),
        )
    }

    const LIMIT: f64 = LARGEST * GUESSING;

    #[test]
    fn an_absurd_loss_counts_as_the_limit_and_names_its_client() {
        let last = [Some(2.3), Some(1.9), None];
        let reports = [(0, 2.0), (1, 20_845.0), (2, 2.1)];
        assert_eq!(bounded(&last, &reports), (vec![2.0, LIMIT, 2.1], vec![1]));
        assert_eq!(bounded(&[None], &[(0, 1e9)]), (vec![LIMIT], vec![0]));
    }

    #[test]
    fn what_is_no_loss_counts_as_the_last_one() {
        for odd in [f64::NAN, -1.0, f64::NEG_INFINITY] {
            let (losses, doubted) = bounded(&[Some(0.7), Some(2.0)], &[(0, odd)]);
            assert_eq!((losses, doubted), (vec![0.7], vec![0]), "{odd}");
        }
        assert_eq!(bounded(&[None], &[(0, f64::NAN)]).0, [GUESSING]);
    }

    #[test]
    fn losses_that_rise_together_pass_and_one_that_rises_alone_does_not() {
        let last = [Some(2.0), Some(2.0), Some(2.0), Some(2.0)];
        let together = [(0, 900.0), (1, 1000.0), (2, 1100.0), (3, 950.0)];
        assert_eq!(bounded(&last, &together).1, [0usize; 0]);
        assert_eq!(bounded(&last, &together[1..2]).1, [1]);
    }

    #[test]
    fn a_liar_cannot_creep_up_on_its_own_word() {
        let mut last = [Some(2.0), Some(2.0), Some(2.0)];
        for _ in 0..20 {
            let lie = 9.0 * last[2].unwrap_or_default();
            last[2] = bounded(&last, &[(0, 2.0), (2, lie)]).0.get(1).copied();
        }
        assert_eq!(last[2], Some(LIMIT));
    }

    #[test]
    fn the_loss_after_training_is_bounded_as_well() {
        let mut update = Update {
            model: Vec::new(),
            loss_before: 1.0,
            loss_after: Some(f64::INFINITY),
        };
        let heard = Heard {
            client: ClientId(0),
            epochs: 1,
            update: &mut update,
        };
        assert_eq!(bound(&[Some(1.0)], &mut [heard]).len(), 1);
        assert_eq!(update.loss_after, Some(LIMIT));
    }
}
