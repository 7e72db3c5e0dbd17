//! Wrappers that alter updates between the clients and the engine, for experiments: attacks and losses.

use gleaner_files::Prefix;
use gleaner_learn::data::{Dataset, Samples};
use gleaner_learn::train::Tensor;
use gleaner_shared::rng::{Purpose, Rng};

use crate::ClientId;
use crate::round::{
    Broadcast, ExactGradient, Fleet, FleetError, Question, Reply, RoundLog, Update,
};
use crate::scenario::{Attack, Faults, Hostile, Scenario};

/// A change of replies on their way to the engine.
trait Alteration: Send {
    /// Changes the replies to the orders of a round.
    fn alter(&self, broadcast: &Broadcast<'_>, replies: &mut [Reply]);
}

/// A fleet whose replies are altered. Exact gradients are not: the simulation computes them itself.
struct Altered<A> {
    fleet: Box<dyn Fleet + Send>,
    alteration: A,
}

impl<A: Alteration> Fleet for Altered<A> {
    fn samples(&self) -> &[u32] {
        self.fleet.samples()
    }

    fn nonzeros(&self) -> &[u64] {
        self.fleet.nonzeros()
    }

    fn tensors(&self) -> &[Tensor] {
        self.fleet.tensors()
    }

    fn announce(&mut self, round: u32, model: &[f32]) -> Result<Vec<f32>, FleetError> {
        self.fleet.announce(round, model)
    }

    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
        let mut replies = self.fleet.train(broadcast)?;
        self.alteration.alter(broadcast, &mut replies);
        Ok(replies)
    }

    fn settle(&mut self, log: &RoundLog, model: &[f32]) -> Result<(), FleetError> {
        self.fleet.settle(log, model)
    }

    fn logged(&mut self) -> Result<Prefix, FleetError> {
        self.fleet.logged()
    }

    fn gradients(&mut self, questions: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
        self.fleet.gradients(questions)
    }

    fn end(&mut self) {
        self.fleet.end();
    }

    fn save(&self) -> Vec<u8> {
        self.fleet.save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), FleetError> {
        self.fleet.restore(state)
    }
}

/// Attackers: the clients from the number `from` on. They know every honest update of their round.
struct Liars {
    from: usize,
    attack: Attack,
    factor: f64,
}

/// Makes the last clients of a fleet hostile as a scenario says.
pub(super) fn with_attackers(
    fleet: Box<dyn Fleet + Send>,
    hostile: &Hostile,
) -> Box<dyn Fleet + Send> {
    if hostile.clients == 0 {
        return fleet;
    }
    let alteration = Liars {
        from: fleet.samples().len().saturating_sub(hostile.clients),
        attack: hostile.attack,
        factor: hostile.factor,
    };
    Box::new(Altered { fleet, alteration })
}

impl Liars {
    fn tamper(&self, start: &[f32], known: &Known, update: &mut Update) {
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
            Attack::Little | Attack::Opposite => {
                for (at, (x, &origin)) in pairs.enumerate() {
                    *x = (f64::from(origin) + known.lie(self.attack, factor, at)) as f32;
                }
            }
            // It trained on wrong labels.
            Attack::Labels => {}
            Attack::Nan => update.model.fill(f32::NAN),
            Attack::Loss => {
                update.loss_before *= factor;
                update.loss_after = update.loss_after.map(|loss| loss * factor);
            }
        }
    }
}

impl Alteration for Liars {
    fn alter(&self, broadcast: &Broadcast<'_>, replies: &mut [Reply]) {
        let known = match self.attack {
            Attack::Little | Attack::Opposite => self.honest(broadcast, replies),
            _ => Known::default(),
        };
        for (order, reply) in broadcast.orders.iter().zip(replies) {
            if let (true, Reply::Trained(update)) = (order.client.index() >= self.from, reply) {
                self.tamper(broadcast.model, &known, update);
            }
        }
    }
}

/// Mean and deviation of the honest updates of a round; empty without any.
#[derive(Default)]
struct Known {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Known {
    /// Returns the movement of a parameter that hides among the honest ones: mean - z deviation ("A
    /// little is enough", Baruch et al., 2019), or -epsilon mean, which turns the round's inner product
    /// with the honest direction ("Fall of empires", Xie et al., 2020).
    fn lie(&self, attack: Attack, factor: f64, at: usize) -> f64 {
        let (mean, deviation) = (self.mean.get(at), self.deviation.get(at));
        let (mean, deviation) = (mean.unwrap_or(&0.0), deviation.unwrap_or(&0.0));
        match attack {
            Attack::Little => mean - factor * deviation,
            _ => -factor * mean,
        }
    }
}

impl Liars {
    /// Looks at the honest updates of a round; at the attackers' own where there are no others.
    fn honest(&self, broadcast: &Broadcast<'_>, replies: &[Reply]) -> Known {
        let models = |hostile: bool| -> Vec<&[f32]> {
            let pairs = broadcast.orders.iter().zip(replies);
            let of = pairs.filter(|(order, _)| (order.client.index() >= self.from) == hostile);
            of.filter_map(|(_, reply)| match reply {
                Reply::Trained(update) => Some(&*update.model),
                Reply::Lost(_) | Reply::Declined(_) => None,
            })
            .collect()
        };
        let honest = Some(models(false)).filter(|it| !it.is_empty());
        let models = honest.unwrap_or_else(|| models(true));
        let count = models.len() as f64;
        let each = |of: &dyn Fn(usize, f64) -> f64| -> Vec<f64> {
            (broadcast.model.iter().enumerate())
                .map(|(at, &origin)| {
                    let steps = models.iter().filter_map(|model| model.get(at));
                    let steps = steps.map(|&x| of(at, f64::from(x) - f64::from(origin)));
                    steps.sum::<f64>() / count
                })
                .collect()
        };
        if models.is_empty() {
            return Known::default();
        }
        let mean = each(&|_, step| step);
        let squares = each(&|at, step| (step - mean[at]) * (step - mean[at]));
        Known {
            deviation: squares.into_iter().map(f64::sqrt).collect(),
            mean,
        }
    }
}

/// Returns the training samples with the labels of [`Attack::Labels`], where that is the attack: the last
/// class for the first, and so on.
pub(super) fn mislabelled(scenario: &Scenario, data: &Dataset) -> Option<Samples> {
    let hostile = &scenario.hostile;
    if hostile.clients == 0 || hostile.attack != Attack::Labels {
        return None;
    }
    let last = u8::try_from(data.classes - 1).unwrap_or(u8::MAX);
    Some(Samples {
        images: data.train.images.clone(),
        labels: data.train.labels.iter().map(|label| last - label).collect(),
    })
}

/// Loss of a share of the updates. The losses depend on seed, client and round alone, so that every
/// scheduler meets the same ones.
struct Lossy {
    seed: u64,
    share: f64,
}

/// Loses the share of a fleet's updates that a scenario says.
pub(super) fn with_losses(
    fleet: Box<dyn Fleet + Send>,
    seed: u64,
    faults: &Faults,
) -> Box<dyn Fleet + Send> {
    if faults.lost_updates == 0.0 {
        return fleet;
    }
    let alteration = Lossy {
        seed,
        share: faults.lost_updates,
    };
    Box::new(Altered { fleet, alteration })
}

impl Lossy {
    fn is_lost(&self, client: ClientId, round: u32) -> bool {
        Rng::stream(self.seed, Purpose::LostUpdates, client.0, round).uniform() < self.share
    }
}

impl Alteration for Lossy {
    fn alter(&self, broadcast: &Broadcast<'_>, replies: &mut [Reply]) {
        for (order, reply) in broadcast.orders.iter().zip(replies) {
            if matches!(reply, Reply::Trained(_)) && self.is_lost(order.client, broadcast.round) {
                *reply = Reply::Lost("the update was lost (faults.lost_updates)".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet;
    use crate::policy::Order;
    use crate::round::{ClientState, Engine, environment};
    use crate::scenario::{Override, resolve};

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
            bit_rate_bps: None,
        };
        let orders = [order(ClientId(0)), order(ClientId(2))];
        let broadcast = Broadcast {
            round: 1,
            model: &[1.0],
            orders: &orders,
            downlink_s: 0.0,
            shortfalls: &[],
            upload_s: &[0.0; 2],
            drawn: &[],
            clip: gleaner_shared::mlp::Clip::NONE,
            wants_loss_after: true,
        };
        let replies = with_attackers(Box::new(Halves), &hostile).train(&broadcast);
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
            // One honest update, which moves 0.5, and no deviation.
            (Attack::Little, 2.0, 1.5),
            (Attack::Opposite, 2.0, 0.0),
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

    /// Runs a small scenario and returns its rounds.
    fn rounds(scheduler: &str, lost: f64) -> Vec<RoundLog> {
        let sets = [
            Override::new("run.scheduler", scheduler),
            Override::new("run.rounds", 40),
            Override::new("run.evaluate_every", 40),
            Override::new("partition.mean_samples", 20.0),
            Override::new("partition.std_samples", 2.0),
            Override::new("data.test_samples", 20),
            // Few samples, but no more epochs than usual.
            Override::new("device.cycles_per_sample", 5000.0),
            Override::new("faults.lost_updates", lost),
        ];
        let scenario = resolve("paper-mlp", &sets).unwrap();
        let data = fleet::load_data(&scenario).unwrap();
        let mut clients = fleet::build(&scenario, &data, 1).unwrap();
        let environment = environment::of(&scenario).unwrap();
        let (members, examiner) = (&mut *clients.fleet, &*clients.examiner);
        let mut engine = Engine::new(&scenario, members, examiner, environment, clients.model);
        let mut logs = Vec::new();
        while !engine.is_finished() {
            logs.extend(engine.step().unwrap());
        }
        logs
    }

    /// Lists (round, client) of every order, and whether its update was lost.
    fn orders(logs: &[RoundLog]) -> Vec<((u32, usize), bool)> {
        let rows = logs.iter().flat_map(|log| &log.clients);
        rows.filter(|row| row.channel.is_some())
            .map(|row| {
                (
                    (row.round, row.client.index()),
                    row.state == ClientState::Lost,
                )
            })
            .collect()
    }

    #[test]
    fn the_stated_share_is_lost_and_paid_for() {
        let (whole, lossy) = (rounds("round-robin", 0.0), rounds("round-robin", 0.2));
        let (all, some) = (orders(&whole), orders(&lossy));
        assert!(all.iter().all(|(_, lost)| !lost));
        let lost = some.iter().filter(|(_, lost)| *lost).count() as f64 / some.len() as f64;
        assert!((0.12..0.28).contains(&lost), "{lost}");
        // Round-robin does not care what arrives: the same orders, the same joules.
        let spent = |logs: &[RoundLog]| logs.last().unwrap().round.cumulative_spent_j;
        assert_eq!(spent(&whole), spent(&lossy));
        let heard = |logs: &[RoundLog]| {
            let heard = logs.iter().map(|log| log.round.participants.len());
            heard.sum::<usize>()
        };
        assert!(heard(&lossy) < heard(&whole));
    }

    #[test]
    fn every_scheduler_meets_the_same_losses_and_certain_loss_stops_learning() {
        let (one, other) = (orders(&rounds("random", 0.5)), orders(&rounds("cre", 0.5)));
        let shared: Vec<_> = one
            .iter()
            .filter_map(|&(at, lost)| Some((lost, other.iter().find(|(o, _)| *o == at)?.1)))
            .collect();
        assert!(shared.len() > 5, "{}", shared.len());
        assert!(shared.iter().all(|(a, b)| a == b));
        let nobody = rounds("random", 1.0);
        assert!(nobody.iter().all(|log| log.round.participants.is_empty()));
    }
}
