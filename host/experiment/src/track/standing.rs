//! What the seeds of one entrant came to.

use std::collections::BTreeMap;

use super::curve::Curve;
use super::entrant::Entrant;
use super::error::TrackError;
use super::part::Part;
use crate::compare::Statistic;
use gleaner_sim::run::{RunDirectory, Summary, each_round};

/// What one run came to.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its figures.
    pub summary: Summary,
    /// Its accuracy over energy.
    pub curve: Curve,
    /// (client, round) pairs in which C5 was broken.
    pub broken: usize,
    /// (client, round) pairs in all.
    pub client_rounds: usize,
}

impl Record {
    /// Reads the log of a run whose summary is known.
    ///
    /// # Errors
    /// Names the log and line that cannot be read.
    pub fn read(
        directory: &RunDirectory,
        summary: Summary,
        clients: usize,
    ) -> Result<Self, TrackError> {
        let mut record = Self {
            summary,
            curve: Curve::default(),
            broken: 0,
            client_rounds: 0,
        };
        for row in each_round(&directory.file(RunDirectory::ROUNDS))? {
            let row = row?;
            record.curve.add(&row);
            record.broken += row.overdrawn.len();
            record.client_rounds += clients;
        }
        Ok(record)
    }
}

/// What all seeds of one entrant came to in a part and cell.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The part.
    pub part: Part,
    /// The cell.
    pub cell: usize,
    /// Who.
    pub entrant: Entrant,
    /// The runs by their seeds.
    pub records: BTreeMap<u64, Record>,
}

impl Standing {
    /// Returns one figure of every seed.
    pub fn figures(&self, figure: impl Fn(&Summary) -> f64) -> BTreeMap<u64, f64> {
        let of = |(&seed, record): (&u64, &Record)| (seed, figure(&record.summary));
        self.records.iter().map(of).collect()
    }

    /// Returns the accuracy over the last tenth of the rounds, in percent.
    #[must_use]
    pub fn accuracies(&self) -> BTreeMap<u64, f64> {
        self.figures(|summary| 100.0 * summary.tail_accuracy)
    }

    /// Returns the energy of all clients, in millijoules a round.
    #[must_use]
    pub fn energies(&self) -> BTreeMap<u64, f64> {
        self.figures(|summary| 1e3 * summary.energy_per_round_j)
    }

    /// Returns mean and spread of one figure over the seeds.
    pub fn statistic(&self, figure: impl Fn(&Summary) -> f64) -> Statistic {
        Statistic::of(&self.figures(figure).into_values().collect::<Vec<_>>())
    }

    /// Returns the curves of all seeds.
    pub fn curves(&self) -> impl Iterator<Item = &Curve> {
        self.records.values().map(|record| &record.curve)
    }

    /// Returns in how many (client, round) pairs C5 was broken, and how many there are.
    #[must_use]
    pub fn broken(&self) -> (usize, usize) {
        let add =
            |(broken, all), record: &Record| (broken + record.broken, all + record.client_rounds);
        self.records.values().fold((0, 0), add)
    }
}
