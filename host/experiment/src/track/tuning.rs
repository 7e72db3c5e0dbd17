//! Part (c): the rate or step of every entrant, chosen by validation images and by nothing else.

use serde::Serialize;

use super::entrant::{Entrant, Server};
use super::error::TrackError;
use super::plan::{Resolve, Roster, Track};
use crate::compare::Statistic;
use gleaner_sim::run::{RunDirectory, Summary};
use gleaner_sim::scenario::{Override, ScenarioError};

/// Validation images of a trial where the scenario has none of its own.
const VALIDATION_SAMPLES: i64 = 1000;

/// What is tried, and with which seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuning {
    /// Seeds of the trials, none of which judges.
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
    /// Returns so many seeds that tune, far from those that judge by default.
    #[must_use]
    pub fn seeds(count: usize) -> Vec<u64> {
        (100..).take(count).collect()
    }

    /// Returns the values tried for an entrant.
    #[must_use]
    pub fn grid(&self, server: Server) -> &[f64] {
        match server {
            Server::Plain => &self.rates,
            Server::Spectral => &self.steps,
        }
    }
}

/// The trials of one entrant: for every value of the grid its runs.
#[derive(Clone, Debug)]
pub struct Trials {
    /// The cell, counted through [`Track::cells`].
    pub cell: usize,
    /// Who.
    pub entrant: Entrant,
    /// The values with their runs, one for each seed.
    pub runs: Vec<(f64, Vec<usize>)>,
}

/// Plans the trials in a cell.
///
/// # Errors
/// Whatever `resolve` finds wrong with the scenario.
pub fn plan(
    track: &Track,
    cell: usize,
    entrants: &[Entrant],
    resolve: Resolve<'_>,
    roster: &mut Roster,
) -> Result<Vec<Trials>, ScenarioError> {
    let mut all = Vec::new();
    for &entrant in entrants {
        let mut runs = Vec::new();
        for &value in track.tuning.grid(entrant.server) {
            let mut seeds = Vec::new();
            for &seed in &track.tuning.seeds {
                let mut overrides = track.cells[cell].keys.clone();
                overrides.extend(entrant.with_knob(value).overrides(seed));
                let mut scenario = resolve(&overrides)?;
                if scenario.data.validation_samples == 0 {
                    let key = "data.validation_samples";
                    overrides.push(Override::new(key, VALIDATION_SAMPLES));
                    scenario = resolve(&overrides)?;
                }
                seeds.push(roster.add(scenario));
            }
            runs.push((value, seeds));
        }
        all.push(Trials {
            cell,
            entrant,
            runs,
        });
    }
    Ok(all)
}

/// What the validation images said of one value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// The value of the knob.
    pub value: f64,
    /// Validation accuracy over the last tenth of the rounds, mean over the seeds.
    pub validation_accuracy: f64,
    /// The sample standard deviation over the seeds.
    pub deviation: f64,
}

/// What was chosen for one entrant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The cell, counted through [`Track::cells`].
    pub cell: usize,
    /// Who, with what was chosen.
    pub entrant: Entrant,
    /// The key that was tuned.
    pub key: &'static str,
    /// Every value with its score.
    pub scores: Vec<Score>,
    /// Whether a value beyond the grid might have been better still.
    pub at_edge: bool,
}

impl Choice {
    /// Chooses the value with the best mean validation accuracy, of equals the first; `outcome`
    /// says what a run came to.
    ///
    /// # Errors
    /// [`TrackError::NotValidated`] names the run without validation images.
    pub fn of<'a>(
        trials: &Trials,
        outcome: impl Fn(usize) -> (&'a RunDirectory, &'a Summary),
    ) -> Result<Self, TrackError> {
        let mut scores: Vec<Score> = Vec::new();
        for (value, runs) in &trials.runs {
            let accuracies = runs.iter().map(|&run| {
                let (directory, summary) = outcome(run);
                let directory = || directory.path().to_owned();
                let missing = || TrackError::NotValidated {
                    directory: directory(),
                };
                summary.tail_validation_accuracy.ok_or_else(missing)
            });
            let statistic = Statistic::of(&accuracies.collect::<Result<Vec<f64>, _>>()?);
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
        Ok(Self {
            cell: trials.cell,
            entrant: Entrant {
                tuned: chosen,
                ..trials.entrant
            },
            key: trials.entrant.server.knob(),
            at_edge: !(scores.iter().any(inside) && scores.iter().any(outside)),
            scores,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::policy::Scheduler;
    use gleaner_sim::run::Tally;

    fn summary(test: f64, validation: Option<f64>) -> Summary {
        Summary {
            tail_accuracy: test,
            final_accuracy: test,
            tail_validation_accuracy: validation,
            ..Tally::default().summary()
        }
    }

    /// Test and validation accuracy of one run.
    type Accuracies = (f64, Option<f64>);

    fn choice(runs: &[(f64, [Accuracies; 2])]) -> Result<Choice, TrackError> {
        let directory = RunDirectory::new("trial");
        let all = runs.iter().flat_map(|(_, seeds)| seeds);
        let summaries: Vec<Summary> = all.map(|&(test, own)| summary(test, own)).collect();
        let entrant = Entrant::list(&[Scheduler::Cre], &[], None)[0];
        let numbers = |at: usize| vec![2 * at, 2 * at + 1];
        let values = runs.iter().enumerate();
        let trials = Trials {
            cell: 0,
            entrant,
            runs: values
                .map(|(at, (value, _))| (*value, numbers(at)))
                .collect(),
        };
        Choice::of(&trials, |run| (&directory, &summaries[run]))
    }

    #[test]
    fn validation_images_choose_even_where_the_test_set_disagrees() {
        let choice = choice(&[
            (0.1, [(0.99, Some(0.5)), (0.99, Some(0.6))]),
            (0.2, [(0.10, Some(0.9)), (0.10, Some(0.7))]),
            (0.3, [(0.99, Some(0.6)), (0.99, Some(0.7))]),
        ])
        .unwrap();
        assert_eq!(choice.entrant.tuned, Some(0.2));
        assert_eq!(choice.key, "learning.learning_rate");
        assert!(!choice.at_edge);
        let scores: Vec<f64> = choice
            .scores
            .iter()
            .map(|s| s.validation_accuracy)
            .collect();
        for (score, wanted) in scores.iter().zip([0.55, 0.8, 0.65]) {
            assert!((score - wanted).abs() < 1e-12, "{scores:?}");
        }
    }

    #[test]
    fn of_equals_the_first_is_chosen_and_an_end_of_the_grid_is_said() {
        let equal = [(0.5, Some(0.5)); 2];
        let choice = choice(&[(0.1, equal), (0.2, equal)]).unwrap();
        assert_eq!(choice.entrant.tuned, Some(0.1));
        assert!(choice.at_edge);
    }

    #[test]
    fn a_run_without_validation_images_is_refused_and_named() {
        let error = choice(&[(0.1, [(0.9, Some(0.9)), (0.9, None)])]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("trial") && text.contains("data.validation_samples"),
            "{text}"
        );
    }
}
