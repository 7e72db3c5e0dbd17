//! Appending to the logs of a run in progress.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::PathBuf;

use gleaner_learn::file;

use super::LogError;
use crate::round::{ClientRow, RoundLog, RoundRow};
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
        let mut file = options.open(&path).map_err(file::at(&path))?;
        // Elsewhere than on Unix a lock would also keep readers out.
        if cfg!(unix) && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(LogError::InUse { path });
        }
        let found = file.metadata().map_err(file::at(&path))?.len();
        if found < bytes {
            return Err(LogError::TooShort {
                path,
                found,
                expected: bytes,
            });
        }
        file.set_len(bytes).map_err(file::at(&path))?;
        io::Seek::seek(&mut file, io::SeekFrom::End(0)).map_err(file::at(&path))?;
        Ok(Self { path, file, bytes })
    }

    fn append(&mut self, lines: io::Result<Vec<u8>>) -> Result<(), LogError> {
        let lines = lines.map_err(file::at(&self.path))?;
        self.file.write_all(&lines).map_err(file::at(&self.path))?;
        self.bytes += lines.len() as u64;
        Ok(())
    }

    fn sync(&self) -> Result<(), LogError> {
        Ok(self.file.sync_data().map_err(file::at(&self.path))?)
    }
}

/// The logs of a run in progress.
pub(in crate::run) struct Logs {
    rounds: Log,
    clients: Log,
}

impl Logs {
    /// Opens both logs, cut back to the given lengths; length 0 starts them.
    pub(in crate::run) fn open(
        directory: &RunDirectory,
        rounds_bytes: u64,
        clients_bytes: u64,
    ) -> Result<Self, LogError> {
        let rounds = Log::open(directory.file(RunDirectory::ROUNDS), rounds_bytes)?;
        let mut clients = Log::open(directory.file(RunDirectory::CLIENTS), clients_bytes)?;
        if clients_bytes == 0 {
            clients.append(header())?;
        }
        Ok(Self { rounds, clients })
    }

    /// Appends one round.
    pub(in crate::run) fn append(&mut self, log: &RoundLog) -> Result<(), LogError> {
        self.rounds.append(round_line(&log.round))?;
        self.clients.append(client_lines(&log.clients))
    }

    /// Makes everything appended so far survive a power cut; returns both lengths.
    pub(in crate::run) fn sync(&self) -> Result<(u64, u64), LogError> {
        self.rounds.sync()?;
        self.clients.sync()?;
        Ok((self.rounds.bytes, self.clients.bytes))
    }
}

fn round_line(row: &RoundRow) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(row)?;
    line.push(b'\n');
    Ok(line)
}

/// Returns the rows as lines of `clients.csv`.
pub(super) fn client_lines(rows: &[ClientRow]) -> io::Result<Vec<u8>> {
    lines(rows, false)
}

/// Returns the first line of `clients.csv`: the names of the fields of [`ClientRow`].
pub(super) fn header() -> io::Result<Vec<u8>> {
    let mut first = lines(&[ClientRow::default()], true)?;
    let end = first.iter().position(|byte| *byte == b'\n');
    first.truncate(end.map_or(0, |end| end + 1));
    Ok(first)
}

fn lines(rows: &[ClientRow], header: bool) -> io::Result<Vec<u8>> {
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
            balance_j: 2.0,
            delta: Some(1e-5),
            ..ClientRow::default()
        };
        let text = |lines: io::Result<Vec<u8>>| String::from_utf8(lines.unwrap()).unwrap();
        assert_eq!(
            text(header()),
            "round,client,state,channel,power_w,epochs,down_bytes,up_bytes,compute_s,upload_s,\
             compute_j,radio_j,harvest_j,queue_j,balance_j,within_income,delta\n"
        );
        assert_eq!(
            text(client_lines(&[row])),
            "0,0,idle,,0.0000001,0,0,0,0,0,0,0,0,10000000000000000,2,false,0.00001\n"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_run_is_made_by_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        let first = Logs::open(&directory, 0, 0).unwrap();
        let refused = Logs::open(&directory, 0, 0).err().unwrap();
        assert!(refused.to_string().contains("another gleaner"), "{refused}");
        drop(first);
        Logs::open(&directory, 0, 0).unwrap();
    }
}
