//! Appending to the logs of a run in progress.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;

use super::{Lengths, LogError};
use crate::round::{ClientRow, EnergyRow, RoundLog, RoundRow};
use crate::run::directory::RunDirectory;

/// A log that is open for appending.
struct Log {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Log {
    /// Opens a log and cuts it to `bytes`.
    fn open(path: PathBuf, bytes: u64) -> Result<Self, LogError> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let mut file = options.open(&path).map_err(gleaner_files::at(&path))?;
        // Elsewhere than on Unix a lock would also keep readers out.
        if cfg!(unix) && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(LogError::InUse { path });
        }
        let found = file.metadata().map_err(gleaner_files::at(&path))?.len();
        if found < bytes {
            return Err(LogError::TooShort {
                path,
                found,
                expected: bytes,
            });
        }
        file.set_len(bytes).map_err(gleaner_files::at(&path))?;
        io::Seek::seek(&mut file, io::SeekFrom::End(0)).map_err(gleaner_files::at(&path))?;
        Ok(Self { path, file, bytes })
    }

    fn append(&mut self, lines: io::Result<Vec<u8>>) -> Result<(), LogError> {
        let lines = lines.map_err(gleaner_files::at(&self.path))?;
        self.file
            .write_all(&lines)
            .map_err(gleaner_files::at(&self.path))?;
        self.bytes += lines.len() as u64;
        Ok(())
    }

    fn sync(&self) -> Result<(), LogError> {
        Ok(self
            .file
            .sync_data()
            .map_err(gleaner_files::at(&self.path))?)
    }
}

/// The logs of a run in progress.
pub(in crate::run) struct Logs {
    rounds: Log,
    clients: Log,
    energy: Option<Log>,
}

impl Logs {
    /// Opens the logs, cut back to the given lengths; length 0 starts them. That of the energy by
    /// phase is one of them if `phases` says so.
    pub(in crate::run) fn open(
        directory: &RunDirectory,
        lengths: Lengths,
        phases: bool,
    ) -> Result<Self, LogError> {
        let table = |name, bytes, header: io::Result<Vec<u8>>| {
            let mut log = Log::open(directory.file(name), bytes)?;
            if bytes == 0 {
                log.append(header)?;
            }
            Ok::<_, LogError>(log)
        };
        let energy = || {
            let header = header::<EnergyRow>();
            table(RunDirectory::ENERGY, lengths.energy, header)
        };
        Ok(Self {
            rounds: Log::open(directory.file(RunDirectory::ROUNDS), lengths.rounds)?,
            clients: table(
                RunDirectory::CLIENTS,
                lengths.clients,
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

    /// Makes everything appended so far survive a power cut; returns the lengths.
    pub(in crate::run) fn sync(&self) -> Result<Lengths, LogError> {
        self.rounds.sync()?;
        self.clients.sync()?;
        self.energy.as_ref().map_or(Ok(()), Log::sync)?;
        Ok(Lengths {
            rounds: self.rounds.bytes,
            clients: self.clients.bytes,
            energy: self.energy.as_ref().map_or(0, |log| log.bytes),
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
        let first = Logs::open(&directory, Lengths::default(), true).unwrap();
        let refused = Logs::open(&directory, Lengths::default(), true)
            .err()
            .unwrap();
        assert!(refused.to_string().contains("another gleaner"), "{refused}");
        drop(first);
        Logs::open(&directory, Lengths::default(), true).unwrap();
    }
}
