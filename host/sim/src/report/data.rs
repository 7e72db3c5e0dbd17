//! The logs of a run, as its report needs them.

use std::path::Path;

use crate::ClientId;
use crate::round::{ClientRow, ClientState, EnergyRow, RoundRow};
use crate::run::{
    LogError, RunDirectory, RunError, Tally, each_client, each_energy, each_round, scenario_of,
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
        let (clients, rounds) = (run.client_count(), run.scenario.run.rounds);
        let rows = directory.file(RunDirectory::ROUNDS);
        for (line, row) in (1..).zip(each_round(&rows)?) {
            let row = row?;
            check_round(&row, clients, rounds).map_err(|what| wrong(&rows, line, what))?;
            run.tally.add_round(&row);
            run.rounds.push(row);
        }
        let rows = directory.file(RunDirectory::CLIENTS);
        for (line, row) in (2..).zip(each_client(&rows)?) {
            let row = row?;
            let placed = run.check_place(row.round, row.client);
            placed.map_err(|what| wrong(&rows, line, what))?;
            run.tally.add_client(&row);
            run.clients.push(row);
        }
        // Charts have a cell for every client and round.
        let least = clients.saturating_mul(run.rounds.len().saturating_sub(1));
        if run.clients.len() < least {
            let what = format!(
                "the last of {} rows; {} rounds of {clients} clients have more",
                run.clients.len(),
                run.rounds.len()
            );
            return Err(wrong(&rows, run.clients.len() as u64 + 1, what).into());
        }
        if energy.is_file() {
            for (line, row) in (2..).zip(each_energy(&energy)?) {
                let row = row?;
                let placed = run.check_place(row.round, row.client);
                placed.map_err(|what| wrong(&energy, line, what))?;
                run.tally.add_energy(&row);
                run.energy.push(row);
            }
        }
        Ok(run)
    }

    /// Makes sure that a row is about a round and a client of the run.
    fn check_place(&self, round: u32, client: ClientId) -> Result<(), String> {
        let last = self.rounds_done();
        match round as usize > last {
            true => Err(format!(
                "round {round}, but rounds.jsonl ends with round {last}"
            )),
            false => check_client(client, self.client_count()),
        }
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

/// Makes sure that a round and its clients are of the run.
fn check_round(row: &RoundRow, clients: usize, rounds: usize) -> Result<(), String> {
    if row.round as usize > rounds {
        return Err(format!("round {}, but run.rounds = {rounds}", row.round));
    }
    let named = row.participants.iter().chain(&row.overdrawn).copied();
    let absent = row.absent.iter().map(|absence| absence.client);
    let anomalous = row.anomalies.iter().map(|anomaly| anomaly.client);
    let mut named = named.chain(absent).chain(anomalous);
    named.try_for_each(|client| check_client(client, clients))
}

fn check_client(client: ClientId, clients: usize) -> Result<(), String> {
    match client.index() < clients {
        true => Ok(()),
        false => Err(format!("client {client}, but clients.count = {clients}")),
    }
}

fn wrong(file: &Path, line: u64, what: String) -> LogError {
    LogError::Line {
        path: file.to_owned(),
        line,
        what,
    }
}
