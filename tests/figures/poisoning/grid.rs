//! The runs of a setting: every rule without and under every attack, over all seeds.

use gleaner_learn::data::Dataset;
use gleaner_sim::fleet;
use gleaner_sim::round::{Engine, environment};
use gleaner_sim::scenario::{NormBound, Scenario};
use gleaner_tests::{in_batches, progress};

use super::task::Setting;

/// A rule with its norm bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub rule: &'static str,
    pub bound: &'static str,
}

impl Row {
    /// Returns its name in the tables of a setting: its f is the number of hostile clients, as far as its
    /// updates suffice.
    pub fn name(self, setting: Setting) -> String {
        let most = setting.most_withstood(self);
        let rule = match self.rule {
            "trimmed-mean" | "krum" => format!("{}, f up to {most}", self.rule),
            rule => rule.to_owned(),
        };
        match self.bound {
            "off" => rule,
            _ => format!("{rule} + bound"),
        }
    }
}

/// Epochs of a participant in a round with full participation.
const EPOCHS: u32 = 5;

/// The rules, the mean first.
pub const ROWS: [Row; 8] = [
    row("mean", "off"),
    row("mean", "auto"),
    row("nova", "off"),
    row("clip", "off"),
    row("median", "off"),
    row("trimmed-mean", "off"),
    row("krum", "off"),
    // It makes every update as long as the station's: no bound changes its aggregate.
    row("fltrust", "off"),
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
    /// Rounds with orders, and in how many only hostile clients had one.
    pub alone: Named,
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

/// Returns the mean accuracy of a model that the base station trains on its own samples alone, as long
/// as clients train.
pub fn station_alone(setting: Setting, data: &Dataset, seeds: u64) -> f64 {
    let alone = |seed| {
        let scenario = setting.scenario(ROWS[0], None, seed);
        let deployment = fleet::build(&scenario, data, 1).expect("a deployment");
        let epochs = EPOCHS * scenario.run.rounds as u32;
        let model = deployment.examiner.train(&deployment.model, epochs);
        let score = deployment.examiner.examine(&model.expect("samples"));
        100.0 * score.accuracy
    };
    (0..seeds).map(alone).sum::<f64>() / seeds as f64
}

/// Returns the smallest whole norm bound up to [`NormBound::AUTO`] that changes no honest run of the
/// mean; one more than that if even the largest does.
pub fn harmless_bound(setting: Setting, data: &Dataset, seeds: u64) -> u32 {
    let largest = NormBound::AUTO as u32;
    let models = |bound: NormBound| -> Vec<Vec<f32>> {
        let bar = progress("honest runs", seeds);
        let models = in_batches(seeds, 1, &bar, |seed, _| {
            let mut scenario = setting.scenario(ROWS[0], None, seed);
            scenario.aggregation.norm_bound = bound;
            outcome(&scenario, data).model
        });
        bar.finish_and_clear();
        models
    };
    let free = models(NormBound::Off);
    let same = |bound: &u32| models(NormBound::Factor(f64::from(*bound))) == free;
    let below = (1..=largest).rev().take_while(same).count() as u32;
    largest + 1 - below
}

/// Runs a scenario on the data and returns its outcome.
pub fn outcome(scenario: &Scenario, data: &Dataset) -> Outcome {
    let mut deployment = fleet::build(scenario, data, 1).expect("a deployment");
    let environment = environment::of(scenario).expect("a world that is drawn");
    let model = deployment.model.clone();
    let (fleet, examiner) = (&mut *deployment.fleet, &*deployment.examiner);
    let mut engine = Engine::new(scenario, fleet, examiner, environment, model);
    let from = scenario.clients.count - scenario.hostile.clients;
    let (mut hostile, mut honest) = (Named::default(), Named::default());
    let mut alone = Named::default();
    while !engine.is_finished() {
        // When training leaves the range of numbers the last model stays.
        let Ok(logs) = engine.step() else { break };
        for log in logs {
            let mut ordered = (log.clients.iter())
                .filter(|row| row.channel.is_some())
                .peekable();
            let trains = log.round.round > 0 && ordered.peek().is_some();
            alone.add(Named {
                named: usize::from(trains && ordered.all(|row| row.client.index() >= from)),
                updates: usize::from(trains),
            });
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
        alone,
    }
}
