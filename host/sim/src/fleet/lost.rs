//! Updates that are lost on their way, for experiments: the client has trained, sent and paid, and
//! nothing arrives.

use super::way::{Through, Way};
use crate::round::{Broadcast, Fleet, Order, Reply};
use crate::scenario::Faults;
use gleaner_shared::rng::{Purpose, Rng};

/// A way on which a share of the updates does not arrive. Which ones follows from seed, client and
/// round alone, so every scheduler meets the same losses.
struct Lossy {
    seed: u64,
    share: f64,
}

/// Loses updates as a scenario says; a fleet that loses none stays as it is.
pub(super) fn among(
    fleet: Box<dyn Fleet + Send>,
    seed: u64,
    faults: &Faults,
) -> Box<dyn Fleet + Send> {
    if faults.lost_updates == 0.0 {
        return fleet;
    }
    let way = Lossy {
        seed,
        share: faults.lost_updates,
    };
    Box::new(Through { fleet, way })
}

impl Lossy {
    fn is_lost(&self, client: usize, round: u32) -> bool {
        let client = u32::try_from(client).unwrap_or(u32::MAX);
        Rng::stream(self.seed, Purpose::LostUpdates, client, round).uniform() < self.share
    }
}

impl Way for Lossy {
    fn befall(&self, broadcast: &Broadcast<'_>, order: &Order, reply: &mut Reply) {
        if matches!(reply, Reply::Trained(_)) && self.is_lost(order.client.index(), broadcast.round)
        {
            *reply = Reply::Lost("the update was lost (faults.lost_updates)".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fleet;
    use crate::round::{ClientState, Engine, RoundLog, environment};
    use crate::scenario::{Override, resolve};

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
        let spent = |logs: &[RoundLog]| logs.last().unwrap().round.spent_j;
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
