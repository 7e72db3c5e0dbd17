//! Part (c): the rate or step of every candidate, chosen by validation accuracy alone.

use gleaner_sim::scenario::Override;
use serde::Serialize;

use super::{Benchmark, Candidate, Server};
use crate::error::ExperimentError;
use crate::plan::Point;
use crate::stats::Statistic;
use crate::study::Runs;

/// Validation images of a trial where the scenario has none.
const VALIDATION_SAMPLES: i64 = 1000;

/// Grids of part (c), and the seeds of its trials, on which nothing is evaluated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuning {
    /// Seeds of the trials.
    pub seeds: Vec<u64>,
    /// Learning rates tried with the plain server.
    pub rates: Vec<f64>,
    /// Steps tried with the spectral server.
    pub steps: Vec<f64>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            seeds: Self::seeds(5),
            rates: vec![0.01, 0.03, 0.1, 0.3, 0.6, 1.0],
            steps: vec![0.02, 0.04, 0.08, 0.16, 0.32],
        }
    }
}

impl Tuning {
    /// Returns tuning seeds, far from the default seeds of the evaluation.
    pub fn seeds(count: usize) -> Vec<u64> {
        (100..).take(count).collect()
    }

    pub(super) fn grid(&self, server: Server) -> &[f64] {
        match server {
            Server::Plain => &self.rates,
            Server::Spectral => &self.steps,
        }
    }
}

/// The trials of one candidate: for every value of the grid one point per seed.
#[derive(Clone, Debug)]
pub(super) struct Trials {
    pub(super) cell: usize,
    pub(super) candidate: Candidate,
    pub(super) runs: Vec<(f64, Vec<Point>)>,
}

impl Benchmark<'_> {
    /// Plans the trials in the tuning cell.
    pub(super) fn plan_trials(
        &self,
        candidates: &[Candidate],
    ) -> Result<Vec<Trials>, ExperimentError> {
        let (rules, cell) = (&self.rules, self.rules.tuning_cell());
        let trial = |candidate: Candidate, seed: u64| {
            let mut overrides = rules.cells[cell].keys.clone();
            overrides.extend(candidate.overrides(seed));
            let mut scenario = (self.resolve)(&overrides)?;
            if scenario.data.validation_samples == 0 {
                let key = "data.validation_samples";
                overrides.push(Override::new(key, VALIDATION_SAMPLES));
                scenario = (self.resolve)(&overrides)?;
            }
            Ok(self.label(cell, &candidate, scenario))
        };
        let mut all = Vec::new();
        for &candidate in candidates {
            let mut runs = Vec::new();
            for &value in rules.tuning.grid(candidate.server) {
                let seeds = rules.tuning.seeds.iter();
                let points = seeds.map(|&seed| trial(candidate.tuned_to(value), seed));
                runs.push((value, points.collect::<Result<_, ExperimentError>>()?));
            }
            all.push(Trials {
                cell,
                candidate,
                runs,
            });
        }
        Ok(all)
    }
}

/// Validation accuracy of one value over the last tenth of the rounds: mean over the seeds and sample
/// standard deviation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Score {
    pub(super) value: f64,
    pub(super) validation_accuracy: f64,
    pub(super) deviation: f64,
}

/// The value that was chosen for one candidate, with all scores; `at_edge`: the value is the smallest or
/// largest of the grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Choice {
    pub(super) cell: usize,
    pub(super) candidate: Candidate,
    key: &'static str,
    pub(super) scores: Vec<Score>,
    pub(super) at_edge: bool,
}

impl Choice {
    /// Chooses the value with the best mean validation accuracy, of equals the first; `None` before all
    /// trials are complete.
    pub(super) fn of(trials: &Trials, runs: &Runs) -> Result<Option<Self>, ExperimentError> {
        let mut scores: Vec<Score> = Vec::new();
        for (value, points) in &trials.runs {
            let mut accuracies = Vec::new();
            for point in points {
                let Some(run) = runs.get(point) else {
                    return Ok(None);
                };
                let accuracy = run.summary.tail_validation_accuracy;
                let id = &point.id;
                let missing = || ExperimentError::NotValidated { id: id.clone() };
                accuracies.push(accuracy.ok_or_else(missing)?);
            }
            let statistic = Statistic::of(&accuracies);
            scores.push(Score {
                value: *value,
                validation_accuracy: statistic.mean,
                deviation: statistic.deviation,
            });
        }
        let mut best = 0;
        for (at, score) in scores.iter().enumerate() {
            if score.validation_accuracy > scores[best].validation_accuracy {
                best = at;
            }
        }
        let chosen = scores.get(best).map(|score| score.value);
        let inside = |score: &Score| Some(score.value) < chosen;
        let outside = |score: &Score| Some(score.value) > chosen;
        Ok(Some(Self {
            cell: trials.cell,
            candidate: Candidate {
                tuned: chosen,
                ..trials.candidate
            },
            key: trials.candidate.server.knob(),
            at_edge: !(scores.iter().any(inside) && scores.iter().any(outside)),
            scores,
        }))
    }
}
