//! The two logs: appended by whole rounds, cut back to a checkpoint, and read again for reports.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use super::directory::RunDirectory;
use crate::round::{ClientRow, ClientState, RoundLog, RoundRow};

/// The columns of `clients.csv`, units in their names.
pub const CLIENT_COLUMNS: [&str; 17] = [
    "round",
    "client",
    "state",
    "channel",
    "power_w",
    "epochs",
    "down_bytes",
    "up_bytes",
    "compute_s",
    "upload_s",
    "compute_j",
    "radio_j",
    "harvest_j",
    "queue_j",
    "balance_j",
    "within_income",
    "delta",
];

/// Why a log cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The system refused.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process writes it.
    #[error("{}: another gleaner is making this run", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A line is not what was written.
    #[error("{}, line {line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// The log is shorter than its checkpoint says.
    #[error(
        "{} has {found} bytes, its checkpoint was written at {expected}; restore it, or delete \
         the checkpoints to start from the first round",
        path.display()
    )]
    TooShort {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The length the checkpoint knows.
        expected: u64,
    },
}

struct Log {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Log {
    /// Opens a log and cuts it to `bytes`.
    fn open(path: PathBuf, bytes: u64) -> Result<Self, LogError> {
        let failed = |source| LogError::File {
            path: path.clone(),
            source,
        };
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let mut file = options.open(&path).map_err(failed)?;
        // Elsewhere than on Unix a lock would also keep readers out.
        if cfg!(unix) && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(LogError::InUse { path });
        }
        let found = file.metadata().map_err(failed)?.len();
        if found < bytes {
            return Err(LogError::TooShort {
                path,
                found,
                expected: bytes,
            });
        }
        file.set_len(bytes).map_err(failed)?;
        io::Seek::seek(&mut file, io::SeekFrom::End(0)).map_err(failed)?;
        Ok(Self { path, file, bytes })
    }

    fn append(&mut self, text: &str) -> Result<(), LogError> {
        let failed = |source| LogError::File {
            path: self.path.clone(),
            source,
        };
        self.file.write_all(text.as_bytes()).map_err(failed)?;
        self.bytes += text.len() as u64;
        Ok(())
    }

    fn sync(&self) -> Result<(), LogError> {
        let failed = |source| LogError::File {
            path: self.path.clone(),
            source,
        };
        self.file.sync_data().map_err(failed)
    }
}

/// The logs of a run in progress.
pub struct Logs {
    rounds: Log,
    clients: Log,
}

impl Logs {
    /// Opens both logs, cut back to the given lengths; length 0 starts them.
    ///
    /// # Errors
    /// Names the file.
    pub fn open(
        directory: &RunDirectory,
        rounds_bytes: u64,
        clients_bytes: u64,
    ) -> Result<Self, LogError> {
        let rounds = Log::open(directory.file(RunDirectory::ROUNDS), rounds_bytes)?;
        let mut clients = Log::open(directory.file(RunDirectory::CLIENTS), clients_bytes)?;
        if clients_bytes == 0 {
            clients.append(&format!("{}\n", CLIENT_COLUMNS.join(",")))?;
        }
        Ok(Self { rounds, clients })
    }

    /// Appends one round.
    ///
    /// # Errors
    /// Names the file.
    pub fn append(&mut self, log: &RoundLog) -> Result<(), LogError> {
        // Plain structs of numbers always serialise.
        let line = serde_json::to_string(&log.round).unwrap_or_default();
        self.rounds.append(&format!("{line}\n"))?;
        let rows: String = log.clients.iter().map(client_line).collect();
        self.clients.append(&rows)
    }

    /// Makes everything appended so far survive a power cut; returns both lengths.
    ///
    /// # Errors
    /// Names the file.
    pub fn sync(&self) -> Result<(u64, u64), LogError> {
        self.rounds.sync()?;
        self.clients.sync()?;
        Ok((self.rounds.bytes, self.clients.bytes))
    }
}

fn client_line(row: &ClientRow) -> String {
    let optional = |value: Option<String>| value.unwrap_or_default();
    format!(
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
        row.round,
        row.client,
        row.state.word(),
        optional(row.channel.map(|channel| channel.to_string())),
        row.power_w,
        row.epochs,
        row.down_bytes,
        row.up_bytes,
        row.compute_s,
        row.upload_s,
        row.compute_j,
        row.radio_j,
        row.harvest_j,
        row.queue_j,
        row.balance_j,
        row.within_income,
        optional(row.delta.map(|delta| delta.to_string())),
    )
}

/// Reads `rounds.jsonl`.
///
/// # Errors
/// Names file and line.
pub fn read_rounds(path: &Path) -> Result<Vec<RoundRow>, LogError> {
    lines(path)?
        .map(|(line, text)| {
            serde_json::from_str(&text?).map_err(|error| LogError::Line {
                path: path.to_owned(),
                line,
                what: error.to_string(),
            })
        })
        .collect()
}

/// Reads `clients.csv`.
///
/// # Errors
/// Names file and line.
pub fn read_clients(path: &Path) -> Result<Vec<ClientRow>, LogError> {
    let wrong = |line, what: String| LogError::Line {
        path: path.to_owned(),
        line,
        what,
    };
    let mut rows = Vec::new();
    for (line, text) in lines(path)? {
        let text = text?;
        if line == 1 {
            if text != CLIENT_COLUMNS.join(",") {
                return Err(wrong(
                    line,
                    "the columns are not those of clients.csv".to_owned(),
                ));
            }
            continue;
        }
        rows.push(parse_client(&text).map_err(|what| wrong(line, what))?);
    }
    Ok(rows)
}

type NumberedLine = (usize, Result<String, LogError>);

fn lines(path: &Path) -> Result<impl Iterator<Item = NumberedLine> + use<'_>, LogError> {
    let failed = |source| LogError::File {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    Ok((1..).zip(
        BufReader::new(file)
            .lines()
            .map(move |line| line.map_err(failed)),
    ))
}

fn parse_client(text: &str) -> Result<ClientRow, String> {
    let fields: Vec<&str> = text.split(',').collect();
    if fields.len() != CLIENT_COLUMNS.len() {
        return Err(format!(
            "{} fields, {} expected",
            fields.len(),
            CLIENT_COLUMNS.len()
        ));
    }
    fn field<T: std::str::FromStr>(fields: &[&str], at: usize) -> Result<T, String> {
        fields[at]
            .parse()
            .map_err(|_| format!("{} = `{}` cannot be read", CLIENT_COLUMNS[at], fields[at]))
    }
    fn optional<T: std::str::FromStr>(fields: &[&str], at: usize) -> Result<Option<T>, String> {
        if fields[at].is_empty() {
            Ok(None)
        } else {
            field(fields, at).map(Some)
        }
    }
    Ok(ClientRow {
        round: field(&fields, 0)?,
        client: field(&fields, 1)?,
        state: ClientState::from_word(fields[2])
            .ok_or_else(|| format!("state = `{}` is unknown", fields[2]))?,
        channel: optional(&fields, 3)?,
        power_w: field(&fields, 4)?,
        epochs: field(&fields, 5)?,
        down_bytes: field(&fields, 6)?,
        up_bytes: field(&fields, 7)?,
        compute_s: field(&fields, 8)?,
        upload_s: field(&fields, 9)?,
        compute_j: field(&fields, 10)?,
        radio_j: field(&fields, 11)?,
        harvest_j: field(&fields, 12)?,
        queue_j: field(&fields, 13)?,
        balance_j: field(&fields, 14)?,
        within_income: field(&fields, 15)?,
        delta: optional(&fields, 16)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(client: usize) -> ClientRow {
        ClientRow {
            round: 3,
            client,
            state: ClientState::Trained,
            channel: Some(2),
            power_w: 0.1 + 0.2,
            epochs: 4,
            down_bytes: 39_760,
            up_bytes: 39_760,
            compute_s: 1e-3,
            upload_s: 8.123_456_789e-3,
            compute_j: 1e-3,
            radio_j: 5e-324,
            harvest_j: 4e-4,
            queue_j: 0.0,
            balance_j: -1.25e-3,
            within_income: false,
            delta: None,
        }
    }

    #[test]
    fn rows_survive_the_csv_bit_for_bit() {
        let text = client_line(&row(1));
        assert_eq!(parse_client(text.trim_end()), Ok(row(1)));
        let resting = ClientRow {
            channel: None,
            delta: Some(0.3),
            ..row(0)
        };
        assert_eq!(parse_client(client_line(&resting).trim_end()), Ok(resting));
    }

    #[cfg(unix)]
    #[test]
    fn a_run_is_made_by_one_process_at_a_time() {
        let path = std::env::temp_dir().join(format!("gleaner-lock-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        let directory = RunDirectory::new(&path);
        let first = Logs::open(&directory, 0, 0).unwrap();
        let refused = Logs::open(&directory, 0, 0).err().unwrap();
        assert!(refused.to_string().contains("another gleaner"), "{refused}");
        drop(first);
        Logs::open(&directory, 0, 0).unwrap();
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn a_broken_row_names_its_field() {
        let broken = client_line(&row(1)).replace("trained", "asleep");
        assert_eq!(
            parse_client(broken.trim_end()).unwrap_err(),
            "state = `asleep` is unknown"
        );
        assert!(parse_client("1,2,3").unwrap_err().contains("17 expected"));
    }
}
