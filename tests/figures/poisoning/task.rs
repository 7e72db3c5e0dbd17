//! What is learnt and who takes part: the settings in which rules and attacks meet.

use gleaner_sim::scenario::{Override, Scenario, resolve};
use strum::{Display, VariantArray};

use super::grid::{Attack, Row};

/// Samples that the base station keeps, for `fltrust`.
const ROOT_SAMPLES: i64 = 100;

/// A data set and its partition.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    clap::ValueEnum,
    Display,
    VariantArray
)]
#[strum(serialize_all = "kebab-case")]
pub enum Task {
    /// The embedded part of MNIST, non-IID degree 0.4, 100 samples a client.
    Mnist,
    /// Digits of 8 x 8 pixels, 40 samples a client from two label-sorted shards.
    Shards,
    /// Exercises in seven classes, Dirichlet 0.5, 100 samples a client.
    Har,
}

impl Task {
    /// Preset, rounds, samples a client, and further settings.
    fn settings(
        self,
    ) -> (
        &'static str,
        i64,
        f64,
        &'static [(&'static str, &'static str)],
    ) {
        match self {
            Self::Mnist => (
                "paper-mlp",
                25,
                100.0,
                &[
                    ("learning.learning_rate", "0.3"),
                    ("partition.non_iid_degree", "0.4"),
                ],
            ),
            Self::Shards => (
                "digits",
                60,
                40.0,
                &[
                    ("partition.rule", "shards"),
                    ("learning.learning_rate", "0.2"),
                ],
            ),
            Self::Har => (
                "har",
                25,
                100.0,
                &[
                    ("partition.rule", "dirichlet"),
                    ("learning.learning_rate", "0.3"),
                ],
            ),
        }
    }
}

/// Who takes part in a round.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    clap::ValueEnum,
    Display,
    VariantArray
)]
#[strum(serialize_all = "kebab-case")]
pub enum Participation {
    /// All of seven clients.
    Full,
    /// Those of ten clients that CRE chooses for three channels.
    Scheduled,
}

impl Participation {
    /// Clients, channels and scheduler.
    fn settings(self) -> (i64, i64, &'static str) {
        match self {
            Self::Full => (7, 7, "random"),
            Self::Scheduled => (10, 3, "cre"),
        }
    }

    /// Returns the number of clients.
    pub fn clients(self) -> i64 {
        self.settings().0
    }
}

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub task: Task,
    pub participation: Participation,
    /// Rounds, where not the task's own.
    pub rounds: Option<i64>,
}

impl Setting {
    /// Returns the number of updates that a round may bring.
    pub fn updates(self) -> i64 {
        self.participation.settings().1
    }

    /// Returns the most hostile clients that a rule can be told to withstand.
    pub fn most_withstood(self, row: Row) -> i64 {
        match row.rule {
            "krum" => (self.updates() - 3) / 2,
            _ => (self.updates() - 1) / 2,
        }
    }

    /// Returns the scenario of a rule under an attack.
    pub fn scenario(self, row: Row, attack: Option<(Attack, i64)>, seed: u64) -> Scenario {
        let (preset, rounds, samples, more) = self.task.settings();
        let (clients, channels, scheduler) = self.participation.settings();
        let rounds = self.rounds.unwrap_or(rounds);
        let mut sets = vec![
            Override::new("run.seed", seed as i64),
            Override::new("run.rounds", rounds),
            Override::new("run.evaluate_every", rounds),
            Override::new("run.scheduler", scheduler),
            Override::new("cre.estimates", "uplink"),
            Override::new("clients.count", clients),
            Override::new("radio.channels", channels),
            Override::new("partition.mean_samples", samples),
            Override::new("partition.std_samples", samples / 10.0),
            Override::new("data.validation_samples", ROOT_SAMPLES),
            // Every upload fits into a hundredth of the round, and five epochs into the rest.
            Override::new("device.deadline_s", 1.0),
            Override::new("device.cycles_per_sample", 85e6 / samples),
            // An epoch costs what it does in the paper.
            Override::new("device.energy_coefficient", 1.2e-29),
            Override::new("device.harvest_j", 0.4e-3),
            Override::new("cre.v", 1e-3),
            Override::new("aggregation.rule", row.rule),
            Override::new("aggregation.norm_bound", row.bound),
        ];
        let parsed = more.iter().map(|(key, value)| format!("{key}={value}"));
        sets.extend(parsed.map(|set| set.parse().expect("a setting")));
        if let Some((attack, hostile)) = attack {
            // The rule is told how many it has to withstand, as far as it can.
            let most = self.most_withstood(row);
            sets.extend([
                Override::new("hostile.clients", hostile),
                Override::new("hostile.attack", attack.0),
                Override::new("hostile.factor", attack.1),
                Override::new("aggregation.hostile", hostile.min(most).max(1)),
            ]);
        }
        resolve(preset, &sets).expect("a scenario")
    }
}
