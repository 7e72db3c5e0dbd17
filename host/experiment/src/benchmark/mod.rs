//! Benchmark of schedulers under fixed rules (`gleaner compare --track`).
//!
//! Part (a) has each scheduler with the server it was described with, (b) all with the same server
//! step, (c) all with a rate or step tuned on validation images. Every part ends in the same tables:
//! accuracy and energy with paired differences, accuracy at energy budgets, C5, fairness and
//! participation. Parts share runs of equal scenarios.

mod cell;
mod curve;
mod ranking;
mod report;
mod results;
mod tuning;

use gleaner_sim::policy::{BaselinePower, Scheduler};
use gleaner_sim::scenario::{Override, Scenario, ServerRule};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::compare::{Resolve, Variant};
use crate::error::ExperimentError;
use crate::page::Findings;
use crate::plan::{Keep, Point};
use crate::study::{Runs, Study, name_of};
pub use cell::Cell;
pub use ranking::{Against, CellRanking};
pub use results::{Outcome, Results};
use tuning::Choice;
use tuning::Trials;
pub use tuning::Tuning;

/// One part of a benchmark.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize
)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
pub enum Part {
    /// the paper's rules: every scheduler with the server it was described with
    #[serde(rename = "a")]
    #[strum(serialize = "a")]
    Paper,
    /// the same server step for every scheduler: `spectral`
    #[serde(rename = "b")]
    #[strum(serialize = "b")]
    Server,
    /// learning rate or step tuned per scheduler on validation images
    #[serde(rename = "c")]
    #[strum(serialize = "c")]
    Tuned,
}

impl Part {
    const fn title(self) -> &'static str {
        match self {
            Self::Paper => "(a) as each scheduler was described",
            Self::Server => "(b) the same server step for every scheduler",
            Self::Tuned => "(c) rate or step tuned on validation images",
        }
    }
}

/// The step at the base station, as far as a benchmark tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Server {
    /// The mean becomes the model, as in the paper.
    Plain,
    /// The spectral step of glean.
    Spectral,
}

impl Server {
    /// Returns the server that a scheduler was described with.
    pub const fn of(scheduler: Scheduler) -> Self {
        match ServerRule::of(scheduler) {
            ServerRule::Spectral => Self::Spectral,
            _ => Self::Plain,
        }
    }

    /// Returns the value of `server.rule`.
    pub const fn rule(self) -> ServerRule {
        match self {
            Self::Plain => ServerRule::Plain,
            Self::Spectral => ServerRule::Spectral,
        }
    }

    /// Returns the word for `server.rule`.
    pub fn word(self) -> &'static str {
        self.rule().into()
    }

    /// Returns the key that scales the change of the model in a round.
    pub const fn knob(self) -> &'static str {
        match self {
            Self::Plain => "learning.learning_rate",
            Self::Spectral => "server.step",
        }
    }
}

/// One row of a table: a scheduler, the transmit power of a baseline, the server's step, and the value
/// of [`Server::knob`] if it was tuned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the struct's documentation says it")]
pub struct Candidate {
    pub scheduler: Scheduler,
    pub power: Option<BaselinePower>,
    pub server: Server,
    pub tuned: Option<f64>,
}

impl Candidate {
    /// Lists schedulers, baselines once per power, by default with the servers they were described with.
    pub fn list(
        schedulers: &[Scheduler],
        powers: &[BaselinePower],
        server: Option<Server>,
    ) -> Vec<Self> {
        let candidates = schedulers.iter().flat_map(|&scheduler| {
            let variants = Variant::list(&[scheduler.into()], powers, ServerRule::Auto).into_iter();
            variants.map(move |variant| Self {
                scheduler,
                power: variant.power,
                server: server.unwrap_or(Server::of(scheduler)),
                tuned: None,
            })
        });
        candidates.collect()
    }

    fn tuned_to(self, value: f64) -> Self {
        let tuned = Some(value);
        Self { tuned, ..self }
    }

    fn power_word(&self) -> &'static str {
        self.power.map_or("chosen", Into::into)
    }

    fn variant(&self) -> Variant {
        Variant {
            scheduler: self.scheduler.into(),
            power: self.power,
            server: self.server.rule(),
        }
    }

    /// Returns a name that tells the candidate from the others of a part.
    fn name(&self) -> String {
        let name = self.variant().name();
        match self.server == Server::of(self.scheduler) {
            true => name,
            false => format!("{name}, {}", self.server.word()),
        }
    }

    fn overrides(&self, seed: u64) -> Vec<Override> {
        let mut overrides = self.variant().overrides(seed);
        let tuned = self.tuned;
        overrides.extend(tuned.map(|value| Override::new(self.server.knob(), value)));
        overrides
    }
}

/// Settings of a benchmark.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The parts to run.
    pub parts: Vec<Part>,
    /// Settings of the data in which all candidates run.
    pub cells: Vec<Cell>,
    /// The schedulers to compare.
    pub schedulers: Vec<Scheduler>,
    /// The powers of the baselines in part (a); the other parts have the most frugal of them.
    pub powers: Vec<BaselinePower>,
    /// Seeds of the evaluation.
    pub seeds: Vec<u64>,
    /// Grids and seeds of part (c).
    pub tuning: Tuning,
}

impl Rules {
    /// Returns the scheduler that the others are compared with: glean, or the first without it.
    pub fn reference(&self) -> Option<Scheduler> {
        let glean = Scheduler::Glean;
        match self.schedulers.contains(&glean) {
            true => Some(glean),
            false => self.schedulers.first().copied(),
        }
    }

    /// Returns the most frugal of the powers, at which the baselines of parts (b) and (c) transmit.
    pub(super) fn frugal(&self) -> BaselinePower {
        let powers = self.powers.iter().copied();
        powers.max().unwrap_or(BaselinePower::LeastEnergy)
    }

    /// Returns the candidates of a part before tuning. In (c), schedulers described with the plain
    /// server run with both servers, so that neither rate nor server is a disadvantage.
    fn candidates(&self, part: Part) -> Vec<Candidate> {
        let list = |server| Candidate::list(&self.schedulers, &[self.frugal()], server);
        match part {
            Part::Paper => Candidate::list(&self.schedulers, &self.powers, None),
            Part::Server => list(Some(Server::Spectral)),
            Part::Tuned => {
                let mut both = list(None);
                let plain = |candidate: &Candidate| candidate.server == Server::Plain;
                let others: Vec<_> = both.iter().copied().filter(plain).collect();
                both.extend(others.into_iter().map(|candidate| Candidate {
                    server: Server::Spectral,
                    ..candidate
                }));
                both
            }
        }
    }

    /// Returns the middle cell, in which part (c) is tuned for all cells.
    const fn tuning_cell(&self) -> usize {
        self.cells.len() / 2
    }

    /// Makes sure that no seed is used both for tuning and for evaluation.
    fn check_seeds(&self) -> Result<(), ExperimentError> {
        let tuning = &self.tuning.seeds;
        let shared = self.seeds.iter().find(|seed| tuning.contains(seed));
        match (shared, tuning.first(), tuning.last()) {
            (Some(&seed), Some(&first), Some(&last)) if self.parts.contains(&Part::Tuned) => {
                Err(ExperimentError::SharedSeed { seed, first, last })
            }
            _ => Ok(()),
        }
    }
}

/// One run as a row of one table; several tables may show the same run.
#[derive(Clone, Debug)]
struct Entry {
    part: Part,
    cell: usize,
    candidate: Candidate,
    seed: u64,
    point: Point,
}

/// A benchmark of schedulers.
pub struct Benchmark<'a> {
    rules: Rules,
    resolve: Resolve<'a>,
    scenario: Scenario,
    /// The runs of parts (a) and (b).
    entries: Vec<Entry>,
    trials: Vec<Trials>,
}

impl<'a> Benchmark<'a> {
    /// Plans a benchmark of the scenario that `resolve` returns.
    pub fn new(rules: Rules, resolve: Resolve<'a>) -> Result<Self, ExperimentError> {
        rules.check_seeds()?;
        let mut benchmark = Self {
            scenario: resolve(&[])?,
            entries: Vec::new(),
            trials: Vec::new(),
            rules,
            resolve,
        };
        for &part in &benchmark.rules.parts.clone() {
            let candidates = benchmark.rules.candidates(part);
            match part {
                Part::Tuned => benchmark.trials = benchmark.plan_trials(&candidates)?,
                _ => {
                    let entries = benchmark.plan(part, &candidates)?;
                    benchmark.entries.extend(entries);
                }
            }
        }
        Ok(benchmark)
    }

    fn point(
        &self,
        cell: usize,
        candidate: &Candidate,
        seed: u64,
    ) -> Result<Point, ExperimentError> {
        let mut overrides = self.rules.cells[cell].keys.clone();
        overrides.extend(candidate.overrides(seed));
        Ok(self.label(cell, candidate, (self.resolve)(&overrides)?))
    }

    fn label(&self, cell: usize, candidate: &Candidate, scenario: Scenario) -> Point {
        let values = vec![
            ("cell".to_owned(), self.rules.cells[cell].name.clone()),
            ("scheduler".to_owned(), candidate.name()),
            ("run.seed".to_owned(), scenario.run.seed.to_string()),
        ];
        Point::new(values, scenario)
    }

    /// Plans candidates of a part in every cell, with every seed of the evaluation.
    fn plan(&self, part: Part, candidates: &[Candidate]) -> Result<Vec<Entry>, ExperimentError> {
        let mut entries = Vec::new();
        for cell in 0..self.rules.cells.len() {
            for &seed in &self.rules.seeds {
                for &candidate in candidates {
                    entries.push(Entry {
                        part,
                        cell,
                        candidate,
                        seed,
                        point: self.point(cell, &candidate, seed)?,
                    });
                }
            }
        }
        Ok(entries)
    }

    /// Returns the choices of part (c) and the runs of the tuned candidates; none before all trials
    /// are complete.
    fn tuned(&self, runs: &Runs) -> Result<(Vec<Choice>, Vec<Entry>), ExperimentError> {
        let mut choices = Vec::new();
        for trials in &self.trials {
            let Some(choice) = Choice::of(trials, runs)? else {
                return Ok((Vec::new(), Vec::new()));
            };
            choices.push(choice);
        }
        let candidates: Vec<Candidate> = choices.iter().map(|it| it.candidate).collect();
        let entries = self.plan(Part::Tuned, &candidates)?;
        Ok((choices, entries))
    }

    /// Reads the results of every candidate and compares them.
    pub fn outcome(&self, runs: &Runs) -> Result<Outcome<'_>, ExperimentError> {
        let (choices, tuned) = self.tuned(runs)?;
        let entries: Vec<&Entry> = self.entries.iter().chain(&tuned).collect();
        Outcome::read(&self.rules, &entries, choices, runs)
    }
}

impl Study for Benchmark<'_> {
    fn name(&self) -> String {
        let mut common = self.scenario.clone();
        common.run.seed = 0;
        name_of("track", common)
    }

    fn keep(&self) -> Keep {
        Keep::Summary
    }

    fn points(&self, runs: &Runs) -> Result<Vec<Point>, ExperimentError> {
        let entries = self.entries.iter().map(|entry| &entry.point);
        let trials = self.trials.iter().flat_map(|trials| &trials.runs);
        let trials = trials.flat_map(|(_, points)| points);
        let mut points: Vec<Point> = entries.chain(trials).cloned().collect();
        points.extend(self.tuned(runs)?.1.into_iter().map(|entry| entry.point));
        Ok(points)
    }

    fn read(&self, runs: &Runs) -> Result<Findings, ExperimentError> {
        Ok(self.outcome(runs)?.findings(&self.scenario))
    }
}

#[cfg(test)]
mod tests;
