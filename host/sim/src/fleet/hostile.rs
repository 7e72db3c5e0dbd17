//! Clients that lie, for experiments: what the last clients of a fleet send is tampered with on its
//! way to the engine, wherever they compute.

use super::way::{Through, Way};
use crate::round::{Broadcast, Fleet, Order, Reply, Update};
use crate::scenario::{Attack, Hostile};

/// Clients that tamper with what they send, from the first hostile one on.
struct Liars {
    from: usize,
    attack: Attack,
    factor: f64,
}

/// Makes clients hostile as a scenario says; a fleet without such clients stays as it is.
pub(super) fn among(fleet: Box<dyn Fleet + Send>, hostile: &Hostile) -> Box<dyn Fleet + Send> {
    if hostile.clients == 0 {
        return fleet;
    }
    let way = Liars {
        from: fleet.samples().len().saturating_sub(hostile.clients),
        attack: hostile.attack,
        factor: hostile.factor,
    };
    Box::new(Through { fleet, way })
}

impl Liars {
    fn tamper(&self, start: &[f32], update: &mut Update) {
        let factor = self.factor;
        let pairs = update.model.iter_mut().zip(start);
        let scale = |(x, &origin): (&mut f32, &f32), by: f64| {
            let origin = f64::from(origin);
            *x = (origin + by * (f64::from(*x) - origin)) as f32;
        };
        match self.attack {
            Attack::Scale => pairs.for_each(|pair| scale(pair, factor)),
            Attack::Flip => pairs.for_each(|pair| scale(pair, -factor)),
            Attack::Constant => {
                pairs.for_each(|(x, &origin)| *x = (f64::from(origin) + factor) as f32);
            }
            Attack::Nan => update.model.fill(f32::NAN),
            Attack::Loss => {
                update.loss_before *= factor;
                update.loss_after = update.loss_after.map(|loss| loss * factor);
            }
        }
    }
}

impl Way for Liars {
    fn befall(&self, broadcast: &Broadcast<'_>, order: &Order, reply: &mut Reply) {
        if let (true, Reply::Trained(update)) = (order.client.index() >= self.from, reply) {
            self.tamper(broadcast.model, update);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientId;
    use crate::round::{ExactGradient, FleetError, Question};

    /// Every client moves every parameter by 0.5 and reports a loss of 2.
    struct Halves;

    impl Fleet for Halves {
        fn samples(&self) -> &[u32] {
            &[1, 1, 1]
        }

        fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
            let reply = |_: &Order| {
                Reply::Trained(Update {
                    model: broadcast.model.iter().map(|x| x + 0.5).collect(),
                    loss_before: 2.0,
                    loss_after: Some(1.0),
                })
            };
            Ok(broadcast.orders.iter().map(reply).collect())
        }

        fn gradients(&mut self, _: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
            Ok(Vec::new())
        }
    }

    fn sent(clients: usize, attack: Attack, factor: f64) -> Vec<Update> {
        let hostile = Hostile {
            clients,
            attack,
            factor,
        };
        let order = |client| Order {
            client,
            channel: client.index(),
            power_w: 0.1,
            epochs: 1,
        };
        let orders = [order(ClientId(0)), order(ClientId(2))];
        let broadcast = Broadcast {
            round: 1,
            model: &[1.0],
            orders: &orders,
            downlink_s: 0.0,
            shortfalls: &[],
            upload_s: &[0.0; 2],
            wants_loss_after: true,
        };
        let replies = among(Box::new(Halves), &hostile).train(&broadcast);
        let update = |reply| match reply {
            Reply::Trained(update) => update,
            Reply::Lost(reason) | Reply::Declined(reason) => panic!("{reason}"),
        };
        replies.unwrap().into_iter().map(update).collect()
    }

    #[test]
    fn the_last_clients_send_what_the_attack_says_and_the_others_the_truth() {
        let honest = sent(0, Attack::Scale, 100.0).remove(0);
        for (attack, factor, parameter) in [
            (Attack::Scale, 100.0, 51.0),
            (Attack::Flip, 1.0, 0.5),
            (Attack::Constant, -3.0, -2.0),
            (Attack::Loss, 10.0, 1.5),
        ] {
            let updates = sent(1, attack, factor);
            assert_eq!(updates[0], honest, "{attack}");
            assert_eq!(updates[1].model, [parameter], "{attack}");
        }
        let liar = sent(1, Attack::Loss, 10.0).remove(1);
        assert_eq!((liar.loss_before, liar.loss_after), (20.0, Some(10.0)));
        assert!(sent(3, Attack::Nan, 0.0)[0].model[0].is_nan());
    }
}
