//! The runs of a setting: every rule without and under every attack, over all seeds.

use gleaner_learn::data::Dataset;
use gleaner_sim::fleet;
use gleaner_sim::round::{Engine, environment};
use gleaner_sim::scenario::Scenario;
use gleaner_tests::{in_batches, progress};

use super::task::Setting;

/// A rule with its norm bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub rule: &'static str,
    pub bound: &'static str,
}

impl Row {
    /// Returns its name in a table.
    pub fn name(self) -> String {
        match self.bound {
            "off" => self.rule.to_owned(),
            _ => format!("{} + bound", self.rule),
        }
    }
}

/// The rules, the mean first.
pub const ROWS: [Row; 9] = [
    row("mean", "off"),
    row("mean", "auto"),
    row("clip", "off"),
    row("median", "off"),
    row("median", "auto"),
    row("trimmed-mean", "off"),
    row("krum", "off"),
    row("fltrust", "off"),
    row("fltrust", "auto"),
];

const fn row(rule: &'static str, bound: &'static str) -> Row {
    Row { rule, bound }
}

/// An attack with its factor.
pub type Attack = (&'static str, f64);

/// The attacks. The first three are far longer than honest updates, the others no longer than the norm
/// bound allows: "flip 7" is just below it.
pub const ATTACKS: [Attack; 8] = [
    ("scale", 100.0),
    ("flip", 100.0),
    ("constant", 1.0),
    ("flip", 7.0),
    ("flip", 1.0),
    ("little", 1.5),
    ("opposite", 2.0),
    ("labels", 1.0),
];

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Test accuracy after the last round, in percent.
    pub accuracy: f64,
    /// The last model.
    pub model: Vec<f32>,
    /// Updates of hostile and of honest clients, and how many of each were named.
    pub hostile: Named,
    pub honest: Named,
}

/// Updates, and how many of them were named as anomalous.
#[derive(Clone, Copy, Debug, Default)]
pub struct Named {
    pub named: usize,
    pub updates: usize,
}

impl Named {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: Self) {
        self.named += other.named;
        self.updates += other.updates;
    }

    /// Returns the share that was named, in percent.
    pub fn percent(self) -> f64 {
        100.0 * self.named as f64 / self.updates.max(1) as f64
    }
}

/// A case: a row, and an attack by so many clients.
pub type Case = (Row, Option<(Attack, i64)>);

/// Runs every case with every seed; the outcomes are in the order of the cases.
pub fn run(setting: Setting, data: &Dataset, cases: &[Case], seeds: u64) -> Vec<Vec<Outcome>> {
    let total = cases.len() as u64 * seeds;
    let bar = progress("runs", total);
    let outcomes = in_batches(total, 1, &bar, |number, _| {
        let (row, attack) = cases[(number / seeds) as usize];
        outcome(&setting.scenario(row, attack, number % seeds), data)
    });
    bar.finish_and_clear();
    let mut outcomes = outcomes.into_iter();
    let each = |_: &Case| outcomes.by_ref().take(seeds as usize).collect();
    cases.iter().map(each).collect()
}

/// Returns the accuracy of a model that the base station trains on its own samples alone, as long as
/// clients train.
pub fn station_alone(scenario: &Scenario, data: &Dataset, epochs: u32) -> f64 {
    let deployment = fleet::build(scenario, data, 1).expect("a deployment");
    let epochs = epochs * scenario.run.rounds as u32;
    let model = deployment.examiner.train(&deployment.model, epochs);
    100.0
        * deployment
            .examiner
            .examine(&model.expect("samples"))
            .accuracy
}

/// Runs a scenario.
pub fn outcome(scenario: &Scenario, data: &Dataset) -> Outcome {
    let mut deployment = fleet::build(scenario, data, 1).expect("a deployment");
    let environment = environment::of(scenario).expect("a world that is drawn");
    let model = deployment.model.clone();
    let (fleet, examiner) = (&mut *deployment.fleet, &*deployment.examiner);
    let mut engine = Engine::new(scenario, fleet, examiner, environment, model);
    let from = scenario.clients.count - scenario.hostile.clients;
    let (mut hostile, mut honest) = (Named::default(), Named::default());
    while !engine.is_finished() {
        // When training leaves the range of numbers the last model stays.
        let Ok(logs) = engine.step() else { break };
        for log in logs {
            for row in log.clients.iter().filter(|row| row.channel.is_some()) {
                let mut anomalies = log.round.anomalies.iter();
                let one = Named {
                    named: usize::from(anomalies.any(|it| it.client == row.client)),
                    updates: 1,
                };
                match row.client.index() >= from {
                    true => hostile.add(one),
                    false => honest.add(one),
                }
            }
        }
    }
    let model = engine.state().model().to_vec();
    Outcome {
        accuracy: 100.0 * examiner.examine(&model).accuracy,
        model,
        hostile,
        honest,
    }
}
