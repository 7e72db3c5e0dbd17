//! Results of the candidates, read from their runs.

use std::collections::BTreeMap;

use gleaner_sim::run::{RunDirectory, Summary, each_round};

use super::curve::Curve;
use super::ranking::{CellRanking, PairedComparison, rankings};
use super::{Candidate, Choice, Entry, Part, Rules, Server};
use crate::error::ExperimentError;
use crate::stats::Statistic;
use crate::study::{CompletedRun, Runs};

/// Result of one run.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) summary: Summary,
    pub(super) curve: Curve,
    /// (client, round) pairs in which the client was overdrawn (C5).
    pub(super) overdrawn: usize,
    /// All (client, round) pairs.
    pub(super) client_rounds: usize,
}

impl Record {
    fn read(run: &CompletedRun, clients: usize) -> Result<Self, ExperimentError> {
        let mut record = Self {
            summary: run.summary.clone(),
            curve: Curve::default(),
            overdrawn: 0,
            client_rounds: 0,
        };
        for row in each_round(&run.directory.file(RunDirectory::ROUNDS))? {
            let row = row?;
            record.curve.add(&row);
            record.overdrawn += row.overdrawn.len();
            record.client_rounds += clients;
        }
        Ok(record)
    }
}

/// Results of one candidate in a part and cell, by seed.
#[derive(Clone, Debug)]
pub struct Results {
    pub(super) part: Part,
    pub(super) cell: usize,
    /// Scheduler, power, server and tuned value.
    pub candidate: Candidate,
    pub(super) records: BTreeMap<u64, Record>,
}

impl Results {
    fn figures(&self, figure: impl Fn(&Summary) -> f64) -> BTreeMap<u64, f64> {
        let of = |(&seed, record): (&u64, &Record)| (seed, figure(&record.summary));
        self.records.iter().map(of).collect()
    }

    /// Returns the accuracy over the last tenth of the rounds, in percent.
    pub(super) fn accuracies(&self) -> BTreeMap<u64, f64> {
        self.figures(|summary| 100.0 * summary.tail_accuracy)
    }

    /// Returns the energy of all clients, in millijoules per round.
    pub(super) fn energies(&self) -> BTreeMap<u64, f64> {
        self.figures(|summary| 1e3 * summary.energy_per_round_j)
    }

    pub(super) fn statistic(&self, figure: impl Fn(&Summary) -> f64) -> Statistic {
        Statistic::of(&self.figures(figure).into_values().collect::<Vec<_>>())
    }

    pub(super) fn curves(&self) -> impl Iterator<Item = &Curve> {
        self.records.values().map(|record| &record.curve)
    }

    /// Returns the number of overdrawn (client, round) pairs, and of all.
    pub fn overdrawn(&self) -> (usize, usize) {
        let add =
            |(some, all), record: &Record| (some + record.overdrawn, all + record.client_rounds);
        self.records.values().fold((0, 0), add)
    }
}

/// Results of a benchmark.
#[derive(Clone, Debug)]
pub struct Outcome<'a> {
    pub(super) rules: &'a Rules,
    /// Results by part, cell and candidate.
    pub results: Vec<Results>,
    pub(super) choices: Vec<Choice>,
    /// The reference scheduler against every other.
    pub(super) comparisons: Vec<PairedComparison>,
}

impl<'a> Outcome<'a> {
    /// Returns the rankings of the reference scheduler by part, cell and the others' server.
    pub fn rankings(&self) -> Vec<CellRanking> {
        rankings(&self.comparisons)
    }

    pub(super) fn read(
        rules: &'a Rules,
        entries: &[&Entry],
        choices: Vec<Choice>,
        runs: &Runs,
    ) -> Result<Self, ExperimentError> {
        let mut results: Vec<Results> = Vec::new();
        for entry in entries {
            let clients = entry.point.scenario.clients.count;
            let record = Record::read(runs.of(&entry.point)?, clients)?;
            let same = |it: &&mut Results| {
                (it.part, it.cell) == (entry.part, entry.cell) && it.candidate == entry.candidate
            };
            match results.iter_mut().find(same) {
                Some(known) => {
                    known.records.insert(entry.seed, record);
                }
                None => results.push(Results {
                    part: entry.part,
                    cell: entry.cell,
                    candidate: entry.candidate,
                    records: [(entry.seed, record)].into(),
                }),
            }
        }
        Ok(Self {
            comparisons: compare(rules, &results)?,
            rules,
            results,
            choices,
        })
    }
}

/// Compares the reference scheduler, with the server it was described with, with all others.
fn compare(rules: &Rules, results: &[Results]) -> Result<Vec<PairedComparison>, ExperimentError> {
    let mut comparisons = Vec::new();
    let Some(scheduler) = rules.reference() else {
        return Ok(comparisons);
    };
    for other in results {
        if other.candidate.scheduler == scheduler {
            continue;
        }
        let own = |it: &&Results| it.candidate.server == Server::of(scheduler);
        let here = |it: &&Results| {
            (it.part, it.cell) == (other.part, other.cell) && it.candidate.scheduler == scheduler
        };
        let mine: Vec<&Results> = results.iter().filter(here).collect();
        let reference = mine.iter().copied().find(own).or(mine.first().copied());
        if let Some(reference) = reference {
            comparisons.push(PairedComparison::of(reference, other)?);
        }
    }
    Ok(comparisons)
}
