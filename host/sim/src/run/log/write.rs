//! Appending to the logs of a run in progress.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::PathBuf;

use gleaner_files::{GrowingHash, Prefix};
use serde::Serialize;

use super::{LogError, LogPrefixes, compare};
use crate::round::{ClientRow, EnergyRow, RoundLog, RoundRow};
use crate::run::directory::RunDirectory;

/// A log that is open for appending.
struct Log {
    path: PathBuf,
    file: File,
    hash: GrowingHash,
}

impl Log {
    /// Opens a log and cuts it to the beginning that a checkpoint covers.
    fn open(path: PathBuf, covered: Prefix) -> Result<Self, LogError> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let mut file = options.open(&path).map_err(gleaner_files::at(&path))?;
        // Elsewhere than on Unix a lock would also keep readers out.
        if cfg!(unix) && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(LogError::InUse { path });
        }
        let hash = GrowingHash::of((&file).take(covered.bytes));
        let hash = hash.map_err(gleaner_files::at(&path))?;
        compare(path.clone(), hash.prefix(), covered)?;
        file.set_len(covered.bytes)
            .map_err(gleaner_files::at(&path))?;
        io::Seek::seek(&mut file, io::SeekFrom::End(0)).map_err(gleaner_files::at(&path))?;
        Ok(Self { path, file, hash })
    }

    fn append(&mut self, lines: io::Result<Vec<u8>>) -> Result<(), LogError> {
        let lines = lines.map_err(gleaner_files::at(&self.path))?;
        self.file
            .write_all(&lines)
            .map_err(gleaner_files::at(&self.path))?;
        self.hash.add(&lines);
        Ok(())
    }

    fn sync(&self) -> Result<Prefix, LogError> {
        let synced = self.file.sync_data();
        synced.map_err(gleaner_files::at(&self.path))?;
        Ok(self.hash.prefix())
    }
}

/// The logs of a run in progress.
pub(in crate::run) struct Logs {
    rounds: Log,
    clients: Log,
    energy: Option<Log>,
}

impl Logs {
    /// Opens the logs, cut back to the beginnings that a checkpoint covers; an empty one starts a log.
    /// That of the energy by phase is one of them if `phases` says so.
    pub(in crate::run) fn open(
        directory: &RunDirectory,
        covered: LogPrefixes,
        phases: bool,
    ) -> Result<Self, LogError> {
        let table = |name, covered: Prefix, header: io::Result<Vec<u8>>| {
            let mut log = Log::open(directory.file(name), covered)?;
            if covered.bytes == 0 {
                log.append(header)?;
            }
            Ok::<_, LogError>(log)
        };
        let energy = || {
            let header = header::<EnergyRow>();
            table(RunDirectory::ENERGY, covered.energy, header)
        };
        Ok(Self {
            rounds: Log::open(directory.file(RunDirectory::ROUNDS), covered.rounds)?,
            clients: table(
                RunDirectory::CLIENTS,
                covered.clients,
                header::<ClientRow>(),
            )?,
            energy: phases.then(energy).transpose()?,
        })
    }

    /// Appends the rows of one round.
    pub(in crate::run) fn append(&mut self, log: &RoundLog) -> Result<(), LogError> {
        self.rounds.append(round_line(&log.round))?;
        self.clients.append(lines(&log.clients, false))?;
        match &mut self.energy {
            Some(energy) => energy.append(lines(&log.energy, false)),
            None => Ok(()),
        }
    }

    /// Makes everything appended so far survive a power cut; returns lengths and hashes of these logs.
    pub(in crate::run) fn sync(&self) -> Result<LogPrefixes, LogError> {
        Ok(LogPrefixes {
            rounds: self.rounds.sync()?,
            clients: self.clients.sync()?,
            energy: (self.energy.as_ref()).map_or(Ok(Prefix::default()), Log::sync)?,
            events: Prefix::default(),
        })
    }
}

fn round_line(row: &RoundRow) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(row)?;
    line.push(b'\n');
    Ok(line)
}

/// Returns the first line of a table: the names of its rows' fields.
pub(super) fn header<R: Serialize + Default>() -> io::Result<Vec<u8>> {
    let mut first = lines(&[R::default()], true)?;
    let end = first.iter().position(|byte| *byte == b'\n');
    first.truncate(end.map_or(0, |end| end + 1));
    Ok(first)
}

/// Returns rows as lines of a table.
pub(super) fn lines<R: Serialize>(rows: &[R], header: bool) -> io::Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new()
        .has_headers(header)
        .from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    writer.into_inner().map_err(|error| error.into_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_the_clients_are_the_fields_of_a_row_and_numbers_are_written_in_full() {
        let row = ClientRow {
            power_w: 1e-7,
            queue_j: 1e16,
            cumulative_balance_j: 2.0,
            delta: Some(1e-5),
            ..ClientRow::default()
        };
        let text = |lines: io::Result<Vec<u8>>| String::from_utf8(lines.unwrap()).unwrap();
        assert_eq!(
            text(header::<ClientRow>()),
            "round,client,state,channel,power_w,epochs,down_bytes,up_bytes,compute_s,upload_s,\
             compute_j,radio_j,harvest_j,queue_j,cumulative_balance_j,within_income,delta\n"
        );
        assert_eq!(
            text(lines(&[row], false)),
            "0,0,idle,,0.0000001,0,0,0,0,0,0,0,0,10000000000000000,2,false,0.00001\n"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_run_is_made_by_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        let first = Logs::open(&directory, LogPrefixes::default(), true).unwrap();
        let refused = Logs::open(&directory, LogPrefixes::default(), true)
            .err()
            .unwrap();
        assert!(refused.to_string().contains("another gleaner"), "{refused}");
        drop(first);
        Logs::open(&directory, LogPrefixes::default(), true).unwrap();
    }
}
