//! Completed runs of a reproduction, indexed by setting.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use gleaner_files::{TEXT_MAX, hexadecimal, read_at_most, read_text, sha256};
use gleaner_sim::round::ClientState;
use gleaner_sim::run::{Provenance, RunDirectory, Summary, Tally, each_client, read_rounds};

use super::exhibits::solution::Solutions;
use super::least_power::upload_j;
use super::*;
use crate::error::PointError;
use crate::execute::{check_sums, run_directory};
use crate::page::over_seeds;

/// Figures of one round that exhibits and claims use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundFigures {
    pub round: u32,
    pub accuracy: Option<f64>,
    pub cumulative_spent_j: f64,
    pub bound: Option<f64>,
    pub train_loss: Option<f64>,
}

/// One run, read once from its directory and checked against its digests, or from its row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the comments say what is not plain")]
pub struct RunRecord {
    #[serde(skip)]
    pub id: String,
    pub seed: u64,
    /// Version of the program, and processor time of all sessions where it is known.
    pub program: String,
    pub processor_s: Option<f64>,
    pub summary: Summary,
    #[serde(skip)]
    pub(super) rounds: Vec<RoundFigures>,
    /// SHA-256 of its `SHA256SUMS`, and so of all its files.
    pub digest: String,
    /// Samples of each client, from the time of its epochs; 0 if it trained none.
    pub samples: Vec<u32>,
    /// How often each client's update was used, and its epochs for these updates.
    pub schedules: Vec<u32>,
    pub epochs: Vec<u32>,
    /// Ten rounds of the schedule.
    pub(super) solutions: Solutions,
    /// Energy that all clients would have spent at the least power that meets the deadline; only of a
    /// baseline at full power.
    pub least_energy_j: Option<f64>,
}

impl RunRecord {
    pub(super) fn read(
        id: String,
        scenario: &Scenario,
        directory: &RunDirectory,
    ) -> Result<Self, ExperimentError> {
        check_sums(directory)?;
        let sums = directory.file(RunDirectory::SUMS);
        let sums = read_at_most(&sums, TEXT_MAX).map_err(gleaner_files::at(&sums))?;
        let rounds = read_rounds(&directory.file(RunDirectory::ROUNDS))?;
        let downlink_s: BTreeMap<u32, f64> = rounds
            .iter()
            .map(|row| (row.round, row.downlink_s))
            .collect();
        let clients = scenario.clients.count;
        let (mut schedules, mut epochs) = (vec![0; clients], vec![0; clients]);
        let mut samples = vec![0; clients];
        let sample_s = scenario.device.cycles_per_sample / scenario.device.frequency_hz;
        let (mut tally, mut least_j) = (Tally::default(), 0.0);
        rounds.iter().for_each(|row| tally.add_round(row));
        let mut solutions = Solutions::new(tally.summary().rounds);
        for row in each_client(&directory.file(RunDirectory::CLIENTS))? {
            let row = row?;
            tally.add_client(&row);
            solutions.add(&row);
            if let Some(&downlink_s) = downlink_s.get(&row.round) {
                least_j += row.compute_j + upload_j(scenario, downlink_s, &row);
            }
            if row.round > 0 && row.state == ClientState::Trained && row.client.index() < clients {
                schedules[row.client.index()] += 1;
                epochs[row.client.index()] += row.epochs;
                // Saturates; the paper's clients have about a thousand.
                samples[row.client.index()] =
                    (row.compute_s / (sample_s * f64::from(row.epochs))).round() as u32;
            }
        }
        let environment = directory.file(RunDirectory::ENVIRONMENT);
        let environment = read_text(&environment).map_err(gleaner_files::at(&environment))?;
        let provenance: Provenance = serde_json::from_str(&environment)
            .map_err(|_| damaged(directory, RunDirectory::ENVIRONMENT))?;
        let at_full_power = scenario.run.scheduler.is_baseline()
            && scenario.baselines.power == BaselinePower::Max
            && scenario.keeps_papers_books();
        let figures = rounds.iter().map(|row| RoundFigures {
            round: row.round,
            accuracy: row.accuracy,
            cumulative_spent_j: row.cumulative_spent_j,
            bound: row.bound,
            train_loss: row.train_loss,
        });
        Ok(Self {
            id,
            seed: scenario.run.seed,
            program: provenance.version,
            processor_s: provenance.processor_s,
            summary: tally.summary(),
            rounds: figures.collect(),
            digest: hexadecimal(&sha256(&sums)),
            samples,
            schedules,
            epochs,
            solutions,
            least_energy_j: at_full_power.then_some(least_j),
        })
    }

    /// Makes sure that the figures can be those of a run of the scenario.
    pub(super) fn check(&self, scenario: &Scenario) -> Result<(), String> {
        let (clients, rounds) = (scenario.clients.count, scenario.run.rounds);
        let lists = [&self.samples, &self.schedules, &self.epochs];
        if lists.iter().any(|list| list.len() != clients) {
            return Err(format!("its lists are not of {clients} clients"));
        }
        let numbers = self.rounds.iter().map(|it| it.round);
        let last = u32::try_from(rounds).unwrap_or(u32::MAX);
        // Round 0 is an introduction, which some schedulers have.
        let first = self.rounds.first().map_or(1, |it| it.round.min(1));
        if self.summary.rounds != rounds || !numbers.eq(first..=last) {
            return Err(format!("it has not the {rounds} rounds of its scenario"));
        }
        if self.seed != scenario.run.seed {
            return Err(format!("its seed is {}, not the scenario's", self.seed));
        }
        let is_digest =
            |text: &str| text.len() == 64 && text.bytes().all(|it| it.is_ascii_hexdigit());
        match is_digest(&self.digest) {
            true => Ok(()),
            false => Err("its digest is no SHA-256".to_owned()),
        }
    }

    /// Returns the activity of all clients.
    pub fn activity(&self) -> Activity {
        Activity::of(&self.schedules, &self.epochs, self.summary.rounds)
    }

    /// Returns the energy of all clients in millijoules per round.
    fn energy_mj(&self) -> f64 {
        1e3 * self.summary.energy_per_round_j
    }

    /// Returns the energy at the least power that meets the deadline; the energy of the run if the
    /// scheduler chose its powers.
    fn least_energy_mj(&self) -> f64 {
        let rounds = self.summary.rounds.max(1) as f64;
        self.least_energy_j
            .map_or_else(|| self.energy_mj(), |total| 1e3 * total / rounds)
    }
}

/// Returns the error of a file that is not what the run wrote.
fn damaged(directory: &RunDirectory, name: &str) -> ExperimentError {
    let path = directory.file(name);
    PointError::Damaged { path }.into()
}

/// The complete runs of a reproduction.
#[derive(Clone, Debug)]
pub struct Records {
    pub reproduction: Reproduction,
    /// The ids of the runs of every setting, one per seed.
    index: Vec<(Setting, Vec<String>)>,
    runs: HashMap<String, RunRecord>,
}

/// All seeds of one setting, in their order.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    pub runs: Vec<&'a RunRecord>,
}

impl Records {
    #[cfg(test)]
    pub fn new(
        reproduction: &Reproduction,
        index: Vec<(Setting, Vec<String>)>,
        runs: HashMap<String, RunRecord>,
    ) -> Self {
        Self {
            reproduction: reproduction.clone(),
            index,
            runs,
        }
    }

    /// Removes the runs of a setting.
    #[cfg(test)]
    pub fn forget(&mut self, setting: &Setting) {
        let ids = self.index.iter().filter(|(known, _)| known == setting);
        for id in ids.flat_map(|(_, ids)| ids) {
            self.runs.remove(id);
        }
    }

    /// Reads every complete run that any exhibit of the scale has, from its row or its directory.
    pub fn read(reproduction: &Reproduction, dir: &Path) -> Result<Self, ExperimentError> {
        let (mut index, mut runs) = (Vec::new(), HashMap::new());
        for (setting, planned) in reproduction.by_setting(Exhibit::VARIANTS)? {
            let mut ids = Vec::new();
            for Planned { point, .. } in planned {
                let directory = run_directory(dir, &point);
                ids.push(point.id.clone());
                if runs.contains_key(&point.id) {
                    continue;
                }
                let run = match reproduction.rows.get(&point.id) {
                    Some(run) => run.clone(),
                    None if directory.is_complete() => {
                        RunRecord::read(point.id.clone(), &point.scenario, &directory)?
                    }
                    None => continue,
                };
                runs.insert(point.id, run);
            }
            index.push((setting, ids));
        }
        Ok(Self {
            reproduction: reproduction.clone(),
            index,
            runs,
        })
    }

    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// Returns how many runs the scale has.
    pub fn planned(&self) -> usize {
        let ids = self.index.iter().flat_map(|(_, ids)| ids);
        ids.collect::<HashSet<_>>().len()
    }

    /// Returns the runs of a setting, if all seeds are complete.
    pub fn of(&self, setting: &Setting) -> Option<Group<'_>> {
        let (_, ids) = self.index.iter().find(|(known, _)| known == setting)?;
        let runs: Option<Vec<&RunRecord>> = ids.iter().map(|id| self.runs.get(id)).collect();
        runs.filter(|runs| !runs.is_empty())
            .map(|runs| Group { runs })
    }
}

impl Group<'_> {
    pub fn values(&self, figure: impl Fn(&RunRecord) -> f64) -> Vec<f64> {
        self.runs.iter().map(|run| figure(run)).collect()
    }

    pub fn statistic(&self, figure: impl Fn(&RunRecord) -> f64) -> Statistic {
        Statistic::of(&self.values(figure))
    }

    /// Returns the test accuracy over the last tenth of the rounds, in percent.
    pub fn accuracy(&self) -> Statistic {
        self.statistic(|run| 100.0 * run.summary.tail_accuracy)
    }

    /// Returns the validation accuracy over the last tenth of the rounds, in percent.
    pub fn validation(&self) -> Statistic {
        let tail = |run: &RunRecord| run.summary.tail_validation_accuracy.unwrap_or(f64::NAN);
        self.statistic(|run| 100.0 * tail(run))
    }

    pub fn energy_mj(&self) -> Statistic {
        self.statistic(RunRecord::energy_mj)
    }

    pub fn least_energy_mj(&self) -> Statistic {
        self.statistic(RunRecord::least_energy_mj)
    }

    /// Returns the mean of a figure over the seeds, round by round, with the band of all seeds.
    pub fn curve(
        &self,
        name: impl Into<String>,
        colour: usize,
        figure: fn(&RoundFigures) -> Option<f64>,
    ) -> Series {
        let seeds = self.runs.iter();
        let of = |run: &&RunRecord| run.rounds.iter().map(|it| (it.round, figure(it))).collect();
        over_seeds(name.into(), colour, &seeds.map(of).collect::<Vec<_>>())
    }
}
