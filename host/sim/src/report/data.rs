//! The logs of a run, as its report needs them.

use crate::round::{ClientRow, ClientState, EnergyRow, RoundRow};
use crate::run::{
    RunDirectory, RunError, Tally, each_client, each_energy, each_round, scenario_of,
};
use crate::scenario::{Scenario, read_profile};
use gleaner_energy::profile::Profile;

/// The scenario and the logs of a run.
#[derive(Clone, Debug)]
pub(super) struct RunData {
    pub(super) scenario: Scenario,
    pub(super) rounds: Vec<RoundRow>,
    /// The clients, round by round.
    pub(super) clients: Vec<ClientRow>,
    /// Their energy by phase; empty under the paper's accounting.
    pub(super) energy: Vec<EnergyRow>,
    /// Sums of the rows.
    pub(super) tally: Tally,
    /// The measured profile its costs are from, if they are and it can be read.
    pub(super) profile: Option<Profile>,
}

impl RunData {
    /// Reads the logs of a run, each once.
    ///
    /// # Errors
    /// Names the file and line that cannot be read.
    pub(super) fn read(directory: &RunDirectory) -> Result<Self, RunError> {
        let energy = directory.file(RunDirectory::ENERGY);
        let mut run = Self {
            scenario: scenario_of(directory)?,
            rounds: Vec::new(),
            clients: Vec::new(),
            energy: Vec::new(),
            tally: Tally::new(energy.is_file()),
            profile: read_profile(&directory.file(RunDirectory::PROFILE)).ok(),
        };
        for row in each_round(&directory.file(RunDirectory::ROUNDS))? {
            let row = row?;
            run.tally.add_round(&row);
            run.rounds.push(row);
        }
        for row in each_client(&directory.file(RunDirectory::CLIENTS))? {
            let row = row?;
            run.tally.add_client(&row);
            run.clients.push(row);
        }
        if energy.is_file() {
            for row in each_energy(&energy)? {
                let row = row?;
                run.tally.add_energy(&row);
                run.energy.push(row);
            }
        }
        Ok(run)
    }

    /// Returns the number of clients.
    pub(super) fn client_count(&self) -> usize {
        self.scenario.clients.count
    }

    /// Returns the number of finished rounds.
    pub(super) fn rounds_done(&self) -> usize {
        self.rounds.last().map_or(0, |row| row.round as usize)
    }

    /// Returns the rows of the clients whose updates were aggregated.
    pub(super) fn trained(&self) -> impl Iterator<Item = &ClientRow> {
        self.clients
            .iter()
            .filter(|row| row.round > 0 && row.state == ClientState::Trained)
    }
}
