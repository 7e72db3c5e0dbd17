//! Writes the event log, which only its owner may read. The file always ends with a whole line: half a line that the disk refused
//! is cut off again. Optional events that could not be written are counted, and the count is logged
//! when there is room. After a failed write of a round's record nothing more is written, and
//! [`EventLog::sync`] returns the error.

use gleaner_files::{GrowingHash, Prefix};
use gleaner_sim::ClientId;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{EventLogError, Line};
use crate::event::{Event, EventKind};

/// Storage of a log.
pub trait Storage: Write {
    /// Truncates the log to `bytes` bytes and continues there.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn cut(&mut self, bytes: u64) -> io::Result<()>;

    /// Writes everything so far to the disk.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn sync(&mut self) -> io::Result<()>;
}

impl Storage for File {
    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)?;
        self.seek(SeekFrom::Start(bytes)).map(|_| ())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// A log that is open for writing.
#[derive(Debug)]
pub struct EventLog<S = File> {
    path: PathBuf,
    storage: S,
    begin: Instant,
    /// Hash of all whole lines.
    whole: GrowingHash,
    /// Whether half a line may follow them.
    torn: bool,
    /// Events of each client that were dropped since the last count was logged.
    dropped: BTreeMap<ClientId, u64>,
    /// Error of the first failed record.
    failed: Option<String>,
}

impl EventLog {
    /// Opens the log for a session that continues after a round; 0 is a new run. Half a line from a
    /// crash is cut off. The log is locked until it is dropped, so that no two runs share a
    /// directory.
    ///
    /// # Errors
    /// Names the file.
    pub fn open(path: &Path, after_round: u32) -> Result<Self, EventLogError> {
        let failed = gleaner_files::at(path);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        // Losses and fingerprints of updates are the clients' own.
        let mut file = gleaner_files::make_private(&mut options)
            .open(path)
            .map_err(&failed)?;
        // A file system without locks does not prevent that.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let path = path.to_owned();
            return Err(EventLogError::InUse { path });
        }
        let whole = whole_lines(&mut file).and_then(|whole| {
            file.rewind()?;
            GrowingHash::of((&file).take(whole))
        });
        let whole = whole.map_err(&failed)?;
        let mut log = Self::on(file, path, whole);
        let line = Line::Session {
            session_after_round: after_round,
        };
        log.write(&line).map_err(failed)?;
        Ok(log)
    }
}

impl<S: Storage> EventLog<S> {
    /// Continues a log behind its whole lines.
    fn on(storage: S, path: &Path, whole: GrowingHash) -> Self {
        Self {
            path: path.to_owned(),
            storage,
            begin: Instant::now(),
            whole,
            torn: true,
            dropped: BTreeMap::new(),
            failed: None,
        }
    }

    /// Appends an event.
    ///
    /// # Errors
    /// Returns an error if a record could not be written, now or in an earlier call; a dropped
    /// optional event is no error.
    pub fn append(&mut self, event: &Event) -> Result<(), EventLogError> {
        self.check()?;
        let logged = self.log_dropped(event.client, event.round);
        match logged.and_then(|()| self.write_event(event)) {
            Ok(()) => Ok(()),
            Err(error) if event.what.is_record() => self.fail(&error),
            Err(_) => {
                *self.dropped.entry(event.client).or_default() += 1;
                Ok(())
            }
        }
    }

    /// Writes all events so far to the disk; returns length and hash of the log.
    ///
    /// # Errors
    /// Returns an error if that fails, or if a record could not be written.
    pub fn sync(&mut self) -> Result<Prefix, EventLogError> {
        self.check()?;
        self.storage.sync().or_else(|error| self.fail(&error))?;
        Ok(self.whole.prefix())
    }

    /// Closes the log and returns the number of dropped events that no line counts.
    ///
    /// # Errors
    /// As [`EventLog::sync`].
    pub fn finish(mut self) -> Result<u64, EventLogError> {
        self.check()?;
        let clients: Vec<ClientId> = self.dropped.keys().copied().collect();
        for client in clients {
            // A count that cannot be logged is returned.
            let _ = self.log_dropped(client, None);
        }
        self.sync()?;
        Ok(self.dropped.values().sum())
    }

    fn check(&self) -> Result<(), EventLogError> {
        match &self.failed {
            None => Ok(()),
            Some(cause) => Err(self.unwritten(cause)),
        }
    }

    fn fail(&mut self, error: &io::Error) -> Result<(), EventLogError> {
        self.failed = Some(error.to_string());
        self.check()
    }

    fn unwritten(&self, cause: &str) -> EventLogError {
        EventLogError::Unwritten {
            path: self.path.clone(),
            cause: cause.to_owned(),
        }
    }

    fn log_dropped(&mut self, client: ClientId, round: Option<u32>) -> io::Result<()> {
        let Some(&events) = self.dropped.get(&client) else {
            return Ok(());
        };
        let what = EventKind::Dropped { events };
        self.write_event(&Event {
            client,
            round,
            what,
        })?;
        self.dropped.remove(&client);
        Ok(())
    }

    fn write_event(&mut self, event: &Event) -> io::Result<()> {
        let t_s = self.begin.elapsed().as_secs_f64();
        self.write(&Line::Event {
            t_s: (t_s * 1e6).round() / 1e6,
            event: event.clone(),
        })
    }

    /// Writes a whole line, or nothing.
    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        if self.torn {
            self.storage.cut(self.whole.bytes())?;
        }
        self.torn = true;
        if let Err(error) = self.storage.write_all(text.as_bytes()) {
            // If that fails, too, it is tried again before the next line.
            self.torn = self.storage.cut(self.whole.bytes()).is_err();
            return Err(error);
        }
        self.torn = false;
        self.whole.add(text.as_bytes());
        Ok(())
    }
}

/// Returns the length of a file up to the end of its last whole line.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    const STEP: u64 = 4096;
    let mut end = file.metadata()?.len();
    let mut block = Vec::new();
    while end > 0 {
        let begin = end.saturating_sub(STEP);
        file.seek(SeekFrom::Start(begin))?;
        block.clear();
        (&*file).take(end - begin).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + at as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

#[cfg(test)]
mod tests;
