//! Summary of a run, computed from its rows one by one.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::directory::RunDirectory;
use super::log::{LogError, each_client, each_energy, each_round};
use super::split::{EnergySplit, EnergyUse, SplitTally};
use crate::ClientId;
use crate::round::{ClientRow, ClientState, Ending, EnergyRow, PrivacyRow, RoundLog, RoundRow};

/// The figures a run is judged by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of rounds.
    pub rounds: usize,
    /// Test accuracy of the run's model, 0 to 1: that after the last round, or after the round that
    /// early stopping kept.
    pub final_accuracy: f64,
    /// Mean accuracy over the last tenth of the rounds: single-client rounds make one round jump.
    pub tail_accuracy: f64,
    /// Joules spent by all clients, round 0 included.
    pub energy_j: f64,
    /// Joules of it spent in round 0, the introduction.
    #[serde(default, skip_serializing_if = "is_zero_energy")]
    pub introduction_j: f64,
    /// Joules spent by all clients per round, without round 0.
    pub energy_per_round_j: f64,
    /// Energy by its use, without round 0.
    #[serde(default)]
    pub by_use: EnergyUse,
    /// Share of the energy that went into computing.
    pub compute_share: f64,
    /// Mean number of participants per round.
    pub participants: f64,
    /// Most epochs of a participant, per round with participants.
    pub epochs: f64,
    /// Number of rounds without participants.
    pub empty_rounds: usize,
    /// Jain's index of how often clients participated: 1 is even, 1/U is one client alone.
    pub fairness: f64,
    /// Largest energy queue at the end.
    pub largest_queue_j: f64,
    /// Share of (client, round) pairs in which C5 failed.
    pub overdrawn_share: f64,
    /// Modelled time of the whole run.
    pub modelled_s: f64,
    /// Number of anomalous updates, by client.
    #[serde(default, alias = "implausible")]
    pub anomalies: BTreeMap<ClientId, usize>,
    /// Validation accuracy of the run's model, where there are validation images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_validation_accuracy: Option<f64>,
    /// Mean validation accuracy over the last tenth of the rounds, where there are validation images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_validation_accuracy: Option<f64>,
    /// Cause of the end and round of the kept model, for a run that stops on validation or on its privacy
    /// budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Differential privacy spent, where noise was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy: Option<PrivacyRow>,
    /// Client-rounds in which a client declined its order.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub declined: usize,
    /// Energy by source and phase, unless the accounting is the paper's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<EnergySplit>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn is_zero_energy(joules: &f64) -> bool {
    *joules == 0.0
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Summary {
    /// The names of the figures in a table of runs, as [`Summary::csv_cells`] orders them.
    pub const CSV_HEADER: &str = "final_accuracy,tail_accuracy,energy_j,energy_per_round_j,\
        compute_share,participants,epochs,empty_rounds,fairness,largest_queue_j,overdrawn_share,\
        modelled_s,final_validation_accuracy,tail_validation_accuracy,rounds,kept_round";

    /// Returns the round whose model is the run's.
    #[must_use]
    pub fn kept_round(&self) -> usize {
        let kept = self.ending.map(|ending| ending.kept_round as usize);
        kept.unwrap_or(self.rounds)
    }

    /// Writes the figures as cells of a row; those that a run does not have are empty.
    #[must_use]
    pub fn csv_cells(&self) -> String {
        let if_any = |share: Option<f64>| share.map_or(String::new(), |share| share.to_string());
        let cells: [&dyn Display; 16] = [
            &self.final_accuracy,
            &self.tail_accuracy,
            &self.energy_j,
            &self.energy_per_round_j,
            &self.compute_share,
            &self.participants,
            &self.epochs,
            &self.empty_rounds,
            &self.fairness,
            &self.largest_queue_j,
            &self.overdrawn_share,
            &self.modelled_s,
            &if_any(self.final_validation_accuracy),
            &if_any(self.tail_validation_accuracy),
            &self.rounds,
            &self.kept_round(),
        ];
        cells.map(ToString::to_string).join(",")
    }
}

/// Adds a run up while its rows go by, so that no log need be in memory.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    rounds: usize,
    last_round: u32,
    /// Rounds that were evaluated, with the accuracy.
    scores: Vec<(u32, f64)>,
    /// The same on the validation images.
    validation: Vec<(u32, f64)>,
    ending: Option<Ending>,
    privacy: Option<PrivacyRow>,
    energy_j: f64,
    /// Energy up to the end of round 0.
    introduction_j: f64,
    compute_j: f64,
    /// Energy of compute and radio from round 1 on.
    by_use: EnergyUse,
    modelled_s: f64,
    trained_rounds: usize,
    participants: usize,
    epochs: f64,
    client_rows: usize,
    overdrawn: usize,
    /// The largest queue of the newest round among the clients' rows.
    queue: (u32, f64),
    /// Number of participations of each client.
    participations: Vec<f64>,
    anomalies: BTreeMap<ClientId, usize>,
    declined: usize,
    split: Option<SplitTally>,
}

impl Tally {
    /// Begins to add up a run, with its energy by phase if the run has that in a log.
    #[must_use]
    pub fn new(phases: bool) -> Self {
        Self {
            split: phases.then(SplitTally::default),
            ..Self::default()
        }
    }

    /// Adds up the logs in a directory.
    ///
    /// # Errors
    /// Names the log and line that cannot be read.
    pub fn read(directory: &RunDirectory) -> Result<Self, LogError> {
        let mut tally = Self::default();
        for row in each_round(&directory.file(RunDirectory::ROUNDS))? {
            tally.add_round(&row?);
        }
        for row in each_client(&directory.file(RunDirectory::CLIENTS))? {
            tally.add_client(&row?);
        }
        let energy = directory.file(RunDirectory::ENERGY);
        if energy.is_file() {
            tally.split = Some(SplitTally::default());
            for row in each_energy(&energy)? {
                tally.add_energy(&row?);
            }
        }
        Ok(tally)
    }

    /// Adds a round with its clients.
    pub fn add(&mut self, log: &RoundLog) {
        self.add_round(&log.round);
        log.clients.iter().for_each(|row| self.add_client(row));
        log.energy.iter().for_each(|row| self.add_energy(row));
    }

    /// Adds a line of `rounds.jsonl`.
    pub fn add_round(&mut self, row: &RoundRow) {
        self.last_round = row.round;
        for anomaly in &row.anomalies {
            *self.anomalies.entry(anomaly.client).or_default() += 1;
        }
        self.scores
            .extend(row.accuracy.map(|accuracy| (row.round, accuracy)));
        self.validation
            .extend(row.validation_accuracy.map(|share| (row.round, share)));
        self.ending = row.ending;
        self.privacy = row.privacy.or(self.privacy);
        self.energy_j = row.cumulative_spent_j;
        self.compute_j += row.compute_j;
        self.modelled_s += row.round_s;
        // Round 0 is the introduction.
        if row.round == 0 {
            self.introduction_j = row.cumulative_spent_j;
        } else {
            self.rounds += 1;
            self.by_use.compute_j += row.compute_j;
            self.by_use.transmit_j += row.radio_j;
            if !row.participants.is_empty() {
                self.trained_rounds += 1;
                self.participants += row.participants.len();
                self.epochs += f64::from(row.epochs);
            }
        }
    }

    /// Adds a row of `clients.csv`.
    pub fn add_client(&mut self, row: &ClientRow) {
        self.client_rows += 1;
        self.overdrawn += usize::from(!row.within_income);
        self.declined += usize::from(row.state == ClientState::Declined);
        let largest = match self.queue {
            (round, largest) if round == row.round => largest,
            _ => 0.0,
        };
        self.queue = (row.round, row.queue_j.max(largest));
        if self.participations.len() <= row.client.index() {
            self.participations.resize(row.client.index() + 1, 0.0);
        }
        if row.round > 0 && row.state == ClientState::Trained {
            self.participations[row.client.index()] += 1.0;
        }
    }

    /// Adds a row of `energy.csv`, where the run has one.
    pub fn add_energy(&mut self, row: &EnergyRow) {
        if let Some(split) = &mut self.split {
            split.add(row);
        }
    }

    /// Returns the number of participations of each client.
    #[must_use]
    pub fn participations(&self) -> &[f64] {
        &self.participations
    }

    /// Returns the figures of the rows so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let rounds = self.rounds.max(1) as f64;
        let tail = |scores| tail_mean(scores, self.rounds - self.rounds.div_ceil(10));
        let kept = self.ending.map_or(self.last_round, |end| end.kept_round);
        let of_model = |scores| last_by(scores, kept);
        let compute_share = if self.energy_j > 0.0 {
            self.compute_j / self.energy_j
        } else {
            0.0
        };
        let largest_queue_j = match self.queue {
            (round, largest) if round == self.last_round => largest,
            _ => 0.0,
        };
        Summary {
            rounds: self.rounds,
            final_accuracy: of_model(&self.scores).unwrap_or(0.0),
            tail_accuracy: tail(&self.scores).unwrap_or(0.0),
            energy_j: self.energy_j,
            introduction_j: self.introduction_j,
            energy_per_round_j: (self.energy_j - self.introduction_j) / rounds,
            by_use: (self.split.as_ref()).map_or(self.by_use, SplitTally::by_use),
            compute_share,
            participants: self.participants as f64 / rounds,
            epochs: self.epochs / self.trained_rounds.max(1) as f64,
            empty_rounds: self.rounds - self.trained_rounds,
            fairness: jain(&self.participations),
            largest_queue_j,
            overdrawn_share: self.overdrawn as f64 / self.client_rows.max(1) as f64,
            modelled_s: self.modelled_s,
            anomalies: self.anomalies.clone(),
            final_validation_accuracy: of_model(&self.validation),
            tail_validation_accuracy: tail(&self.validation),
            ending: self.ending,
            privacy: self.privacy,
            declined: self.declined,
            split: self.split.as_ref().map(SplitTally::split),
        }
    }
}

/// Rounds that were evaluated, with their scores.
type Scores = [(u32, f64)];

/// Returns the last score up to a round.
fn last_by(scores: &Scores, last: u32) -> Option<f64> {
    let mut newest = scores.iter().rev();
    newest
        .find(|(round, _)| *round <= last)
        .map(|(_, score)| *score)
}

/// Returns the mean of the scores after a round.
fn tail_mean(scores: &Scores, after: usize) -> Option<f64> {
    let tail: Vec<f64> = scores
        .iter()
        .filter(|(round, _)| *round as usize > after)
        .map(|(_, score)| *score)
        .collect();
    (!tail.is_empty()).then(|| tail.iter().sum::<f64>() / tail.len() as f64)
}

/// Returns Jain's fairness index (sum x)^2 / (n sum x^2); 1 if all are zero.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares > 0.0 {
        sum * sum / (shares.len() as f64 * squares)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::round::Cause;

    #[test]
    fn a_row_of_a_table_has_a_cell_for_every_name() {
        let names = Summary::CSV_HEADER.split(',').count();
        assert_eq!(
            Tally::default().summary().csv_cells().split(',').count(),
            names
        );
    }

    #[test]
    fn accuracy_is_that_of_the_model_kept_and_the_tail_that_of_the_last_rounds() {
        let mut tally = Tally::default();
        for round in 1..=20 {
            let line = format!(
                r#"{{"round":{round},"accuracy":0.{:02},"validation_accuracy":0.{:02},
                "participants":[],"epochs":1,"compute_j":0,"radio_j":0,"harvest_j":0,"cumulative_spent_j":0,
                "downlink_s":0,"round_s":0,"overdrawn":[],"absent":[]}}"#,
                10 + round,
                40 + round,
            );
            tally.add_round(&serde_json::from_str(&line).unwrap());
        }
        let plain = tally.summary();
        assert_eq!(plain.final_accuracy, 0.3);
        assert_eq!(plain.final_validation_accuracy, Some(0.6));
        assert_eq!((plain.kept_round(), plain.ending), (20, None));
        tally.ending = Some(Ending {
            cause: Cause::Patience,
            kept_round: 7,
        });
        let stopped = tally.summary();
        assert_eq!(stopped.final_accuracy, 0.17);
        assert_eq!(stopped.final_validation_accuracy, Some(0.47));
        assert_eq!(stopped.kept_round(), 7);
        for summary in [plain, stopped] {
            assert!((summary.tail_accuracy - 0.295).abs() < 1e-12);
            let tail = summary.tail_validation_accuracy.unwrap();
            assert!((tail - 0.595).abs() < 1e-12);
        }
        assert_eq!(Tally::default().summary().tail_validation_accuracy, None);
    }

    #[test]
    fn the_introduction_is_apart_from_the_rounds_and_orders_from_sleep() {
        let mut tally = Tally::new(true);
        for (round, spent_j) in [(0, 8.0), (1, 10.0), (2, 12.0)] {
            let line = format!(
                r#"{{"round":{round},"participants":[],"epochs":1,"compute_j":0.25,"radio_j":0.5,
                "harvest_j":0,"cumulative_spent_j":{spent_j},"downlink_s":0,"round_s":0,
                "overdrawn":[],"absent":[]}}"#
            );
            tally.add_round(&serde_json::from_str(&line).unwrap());
            let (train, rest) = if round == 0 { (5, 3) } else { (1, 1) };
            tally.add_energy(&EnergyRow {
                round,
                train_pj: train * 1_000_000_000_000,
                sleep_pj: rest * 1_000_000_000_000,
                ..EnergyRow::default()
            });
        }
        let summary = tally.summary();
        assert_eq!((summary.energy_j, summary.introduction_j), (12.0, 8.0));
        assert_eq!(summary.energy_per_round_j, 2.0);
        let (orders_j, standing_j) = (summary.by_use.orders_j(), summary.by_use.standing_j());
        assert_eq!((orders_j, standing_j), (2.0, 2.0));
        let split = summary.split.unwrap();
        assert_eq!(
            (split.spent_j["train"], split.introduction_j["train"]),
            (7.0, 5.0)
        );
        // Without a log of phases, compute and radio are those of orders.
        tally.split = None;
        assert_eq!(tally.summary().by_use.orders_j(), 1.5);
    }

    #[test]
    fn a_run_in_which_nobody_trained_reads_zero_without_a_sign() {
        let summary = Tally::default().summary();
        assert_eq!(format!("{:.2}", summary.participants), "0.00");
        assert_eq!((summary.rounds, summary.empty_rounds), (0, 0));
    }

    #[test]
    fn fairness_is_one_when_even_and_one_over_n_when_alone() {
        assert!((jain(&[3.0, 3.0, 3.0]) - 1.0).abs() < 1e-15);
        assert!((jain(&[0.0, 7.0, 0.0, 0.0]) - 0.25).abs() < 1e-15);
        assert!((jain(&[0.0, 0.0]) - 1.0).abs() < 1e-15);
    }
}
