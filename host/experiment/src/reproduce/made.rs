//! What one run came to, read once from its directory and checked against its digests.

use gleaner_sim::ClientId;
use std::collections::BTreeMap;
use std::fs;

use gleaner_files::{hexadecimal, sha256};

use super::error::ReproduceError;
use super::least_power::LeastEnergy;
use crate::batch::check_sums;
use gleaner_sim::policy::BaselinePower;
use gleaner_sim::round::{ClientState, RoundRow};
use gleaner_sim::run::{RunDirectory, Summary, Tally, each_client, read_rounds};
use gleaner_sim::scenario::Scenario;

/// What one run came to.
#[derive(Clone, Debug)]
pub struct Made {
    /// The first 16 digits of the SHA-256 of its scenario.
    pub id: String,
    /// Its seed.
    pub seed: u64,
    /// Its directory.
    pub directory: RunDirectory,
    /// Its figures.
    pub summary: Summary,
    /// SHA-256 of its `SHA256SUMS`: of all that it left.
    pub digest: String,
    /// How often each client's update was used.
    pub schedules: Vec<u32>,
    /// How many epochs each client trained for these updates.
    pub epochs: Vec<u32>,
    /// What all clients would have spent at the least power that meets the deadline; only of a
    /// baseline at full power.
    pub least_energy_j: Option<f64>,
}

impl Made {
    /// Reads a complete run.
    ///
    /// # Errors
    /// Names the directory and the file that is damaged.
    pub fn read(
        id: String,
        scenario: &Scenario,
        directory: RunDirectory,
    ) -> Result<Self, ReproduceError> {
        check_sums(&directory)?;
        let sums = directory.file(RunDirectory::SUMS);
        let sums = fs::read(&sums).map_err(gleaner_files::at(&sums))?;
        let digest = hexadecimal(&sha256(&sums));
        let rounds = read_rounds(&directory.file(RunDirectory::ROUNDS))?;
        let by_round: BTreeMap<u32, &RoundRow> =
            rounds.iter().map(|row| (row.round, row)).collect();
        let clients = scenario.clients.count;
        let (mut schedules, mut epochs) = (vec![0; clients], vec![0; clients]);
        let (mut tally, mut least) = (Tally::default(), LeastEnergy::default());
        rounds.iter().for_each(|row| tally.add_round(row));
        for row in each_client(&directory.file(RunDirectory::CLIENTS))? {
            let row = row?;
            tally.add_client(&row);
            if let Some(round) = by_round.get(&row.round) {
                least.add(scenario, round, &row);
            }
            if row.round > 0
                && row.state == ClientState::Trained
                && row.client < ClientId::at(clients)
            {
                schedules[row.client.index()] += 1;
                epochs[row.client.index()] += row.epochs;
            }
        }
        let soft = scenario.run.scheduler.is_baseline()
            && scenario.baselines.power == BaselinePower::Max
            && scenario.keeps_papers_books();
        Ok(Self {
            id,
            seed: scenario.run.seed,
            directory,
            summary: tally.summary(),
            digest,
            schedules,
            epochs,
            least_energy_j: soft.then(|| least.total_j()),
        })
    }

    /// Reads its log.
    ///
    /// # Errors
    /// Names the file and line that cannot be read.
    pub fn rounds(&self) -> Result<Vec<RoundRow>, ReproduceError> {
        Ok(read_rounds(&self.directory.file(RunDirectory::ROUNDS))?)
    }

    /// Returns the energy of all clients in millijoules a round, as it ran.
    #[must_use]
    pub fn energy_mj(&self) -> f64 {
        1e3 * self.summary.energy_per_round_j
    }

    /// Returns the same at the least power that meets the deadline; as it ran where the scheduler
    /// chose its powers.
    #[must_use]
    pub fn least_energy_mj(&self) -> f64 {
        let rounds = self.summary.rounds.max(1) as f64;
        self.least_energy_j
            .map_or_else(|| self.energy_mj(), |total| 1e3 * total / rounds)
    }
}
