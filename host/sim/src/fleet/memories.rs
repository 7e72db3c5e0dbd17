//! What clients remember of their uploads under error feedback, and what they would remember if the
//! uploads of the round counted.

use serde::{Deserialize, Serialize};

use crate::ClientId;
use crate::round::{ClientState, FleetError, RoundLog};

/// The memories of all clients; those that never uploaded have none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memories {
    /// Bytes of one; zero without error feedback.
    bytes: usize,
    confirmed: Vec<Option<Vec<u8>>>,
    /// Of the uploads of the round, which may be lost, late or refused yet.
    #[serde(skip)]
    pending: Vec<(ClientId, Vec<u8>)>,
}

impl Memories {
    /// Returns empty memories of so many bytes.
    pub fn new(clients: usize, bytes: usize) -> Self {
        Self {
            bytes,
            confirmed: vec![None; clients],
            pending: Vec::new(),
        }
    }

    /// Returns whether there is error feedback.
    pub const fn are_kept(&self) -> bool {
        self.bytes > 0
    }

    /// Returns what a client remembers; `None` without error feedback.
    pub fn of(&self, client: ClientId) -> Option<Vec<u8>> {
        let confirmed = self.confirmed.get(client.index())?.clone();
        (self.bytes > 0).then(|| confirmed.unwrap_or_else(|| vec![0; self.bytes]))
    }

    /// Notes what clients remember if their uploads count.
    pub fn propose(&mut self, uploads: impl IntoIterator<Item = (ClientId, Vec<u8>)>) {
        self.pending.extend(uploads);
    }

    /// Closes a round: the uploads that were aggregated count, all others leave no trace.
    pub fn settle(&mut self, log: &RoundLog) {
        for (client, memory) in self.pending.drain(..) {
            let row = log.clients.get(client.index());
            if row.is_some_and(|row| row.state == ClientState::Trained)
                && let Some(confirmed) = self.confirmed.get_mut(client.index())
            {
                *confirmed = Some(memory);
            }
        }
    }

    /// Returns the state for a checkpoint; empty without error feedback.
    pub fn save(&self) -> Vec<u8> {
        match self.bytes {
            0 => Vec::new(),
            // Plain data always serialises.
            _ => postcard::to_allocvec(self).unwrap_or_default(),
        }
    }

    /// Returns to a saved state.
    ///
    /// # Errors
    /// When it is of other clients.
    pub fn restore(&mut self, state: &[u8]) -> Result<(), FleetError> {
        if self.bytes == 0 && state.is_empty() {
            return Ok(());
        }
        let refuse = || FleetError::Restore("the memories are of other uploads".to_owned());
        let saved: Self = postcard::from_bytes(state).map_err(|_| refuse())?;
        let mut lengths = saved.confirmed.iter().flatten().map(Vec::len);
        let fits = saved.bytes == self.bytes && lengths.all(|length| length == self.bytes);
        if !fits || saved.confirmed.len() != self.confirmed.len() {
            return Err(refuse());
        }
        *self = saved;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::fleet;
    use crate::round::{Engine, RoundLog, State, environment};
    use crate::scenario::{Override, Scenario, resolve};

    fn scenario(sets: &[(&str, &str)]) -> Scenario {
        let always = [
            ("run.scheduler", "round-robin"),
            ("run.rounds", "12"),
            ("run.evaluate_every", "12"),
            ("partition.mean_samples", "40"),
            ("partition.std_samples", "2"),
            ("data.test_samples", "50"),
            ("learning.learning_rate", "0.1"),
            // Few samples, but no more epochs than usual.
            ("device.cycles_per_sample", "2500"),
        ];
        let sets = always.iter().chain(sets);
        let sets: Vec<Override> = sets
            .map(|(key, value)| format!("{key}={value}").parse().unwrap())
            .collect();
        resolve("paper-mlp", &sets).unwrap()
    }

    /// Runs from the first round or a state to the end, or to the round `until`; returns logs and state.
    fn run(scenario: &Scenario, from: Option<State>, until: u32) -> (Vec<RoundLog>, State) {
        let data = fleet::load_data(scenario).unwrap();
        let mut clients = fleet::build(scenario, &data, 1).unwrap();
        let environment = environment::of(scenario).unwrap();
        let (members, examiner) = (&mut *clients.fleet, &*clients.examiner);
        let mut engine = match from {
            None => Engine::new(scenario, members, examiner, environment, clients.model),
            Some(state) => Engine::resume(scenario, members, examiner, environment, state).unwrap(),
        };
        let mut logs = Vec::new();
        while !engine.is_finished() && engine.state().round() < until {
            logs.extend(engine.step().unwrap());
        }
        (logs, engine.checkpoint())
    }

    #[test]
    fn a_run_with_error_feedback_goes_on_from_a_checkpoint_as_without_a_stop() {
        for (kind, code) in [
            ("float", "rank-2"),
            ("fixed-point", "rank-2"),
            ("float", "q4"),
        ] {
            let of = |feedback| {
                scenario(&[
                    ("clients.kind", kind),
                    ("upload.code", code),
                    ("upload.error_feedback", feedback),
                ])
            };
            let scenario = of("true");
            let (_, whole) = run(&scenario, None, 12);
            let (_, half) = run(&scenario, None, 5);
            let (_, resumed) = run(&scenario, Some(half.clone()), 12);
            assert!(whole == resumed, "{kind} {code}");
            // The memory matters, and so does its loss.
            assert!(whole != run(&of("false"), None, 12).1, "{kind} {code}");
            assert!(!half.fleet().is_empty(), "{kind} {code}");
        }
    }

    #[test]
    fn uploads_that_are_lost_leave_no_memory() {
        for kind in ["float", "fixed-point"] {
            let scenario = scenario(&[
                ("clients.kind", kind),
                ("upload.code", "rank-2"),
                ("upload.error_feedback", "true"),
                ("faults.lost_updates", "1"),
            ]);
            let (_, first) = run(&scenario, None, 0);
            let (logs, last) = run(&scenario, None, 6);
            assert!(logs.iter().all(|log| log.round.participants.is_empty()));
            assert!(first.fleet() == last.fleet(), "{kind}");
        }
    }

    #[test]
    fn time_and_bytes_follow_the_code() {
        let row = |code: &str| {
            let scenario = scenario(&[("upload.code", code), ("baselines.power", "max")]);
            let (logs, _) = run(&scenario, None, 1);
            let rows = logs.into_iter().flat_map(|log| log.clients);
            rows.into_iter().find(|row| row.channel.is_some()).unwrap()
        };
        let (paper, q8, rank) = (row("paper"), row("q8"), row("rank-4"));
        assert_eq!(
            (paper.up_bytes, q8.up_bytes, rank.up_bytes),
            (39_760, 39_776, 3_917)
        );
        assert_eq!(rank.down_bytes, paper.down_bytes);
        let ratio = paper.upload_s / rank.upload_s;
        assert!((ratio - 39_760.0 / 3_917.0).abs() < 1e-9, "{ratio}");
    }
}
