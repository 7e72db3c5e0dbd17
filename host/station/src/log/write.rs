//! Writing the event log. Whatever the disk refuses, the file ends with a whole line: half a line is
//! cut off again. News that could not be written are counted and told of when there is room;
//! without its record a round does not count, so nothing more is written then, and the next
//! [`EventLog::sync`] says why.

use gleaner_sim::ClientId;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{EventLogError, Line};
use crate::event::{Event, EventKind};

/// What a log is written to.
pub trait Storage: Write {
    /// Cuts everything off behind the first `bytes` bytes and goes on writing there.
    ///
    /// # Errors
    /// Whatever the system refuses.
    fn cut(&mut self, bytes: u64) -> io::Result<()>;

    /// Makes everything written so far survive a power cut.
    ///
    /// # Errors
    /// Whatever the system refuses.
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

/// A log being written.
#[derive(Debug)]
pub struct EventLog<S = File> {
    path: PathBuf,
    storage: S,
    begin: Instant,
    /// Bytes of whole lines.
    whole: u64,
    /// Half a line may stand behind them.
    torn: bool,
    /// News of each client that could not be written and were not told of yet.
    left_out: BTreeMap<ClientId, u64>,
    /// Why part of the record is missing.
    failed: Option<String>,
}

impl EventLog {
    /// Opens the log for a session that continues after a round; 0 is a new run. Half a line that
    /// a crash left is cut off. Until the log is dropped nobody else may open it, so that no two
    /// runs share a directory.
    ///
    /// # Errors
    /// Names the file.
    pub fn open(path: &Path, after_round: u32) -> Result<Self, EventLogError> {
        let failed = gleaner_files::at(path);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let mut file = options.open(path).map_err(&failed)?;
        // A file system without locks keeps nobody out.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let path = path.to_owned();
            return Err(EventLogError::InUse { path });
        }
        let whole = whole_lines(&mut file).map_err(&failed)?;
        let mut log = Self::on(file, path, whole);
        let line = Line::Session {
            session_after_round: after_round,
        };
        log.write(&line).map_err(failed)?;
        Ok(log)
    }
}

impl<S: Storage> EventLog<S> {
    /// Continues a log of which `whole` bytes are whole lines.
    fn on(storage: S, path: &Path, whole: u64) -> Self {
        Self {
            path: path.to_owned(),
            storage,
            begin: Instant::now(),
            whole,
            torn: true,
            left_out: BTreeMap::new(),
            failed: None,
        }
    }

    /// Appends what happened.
    ///
    /// # Errors
    /// When something is missing that a replay needs, now or since an earlier call; news that
    /// cannot be written are no error.
    pub fn append(&mut self, event: &Event) -> Result<(), EventLogError> {
        self.check()?;
        let told = self.tell_left_out(event.client, event.round);
        match told.and_then(|()| self.write_event(event)) {
            Ok(()) => Ok(()),
            Err(error) if event.what.is_record() => self.fail(&error),
            Err(_) => {
                *self.left_out.entry(event.client).or_default() += 1;
                Ok(())
            }
        }
    }

    /// Makes everything appended so far survive a power cut.
    ///
    /// # Errors
    /// When it cannot, or when something is missing that a replay needs.
    pub fn sync(&mut self) -> Result<(), EventLogError> {
        self.check()?;
        self.storage.sync().or_else(|error| self.fail(&error))
    }

    /// Ends the log and returns how many news are not in it and nowhere told of.
    ///
    /// # Errors
    /// As [`EventLog::sync`].
    pub fn finish(mut self) -> Result<u64, EventLogError> {
        self.check()?;
        let clients: Vec<ClientId> = self.left_out.keys().copied().collect();
        for client in clients {
            // What cannot be told stays counted.
            let _ = self.tell_left_out(client, None);
        }
        self.sync()?;
        Ok(self.left_out.values().sum())
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

    fn tell_left_out(&mut self, client: ClientId, round: Option<u32>) -> io::Result<()> {
        let Some(&events) = self.left_out.get(&client) else {
            return Ok(());
        };
        let what = EventKind::Dropped { events };
        self.write_event(&Event {
            client,
            round,
            what,
        })?;
        self.left_out.remove(&client);
        Ok(())
    }

    fn write_event(&mut self, event: &Event) -> io::Result<()> {
        let t_s = self.begin.elapsed().as_secs_f64();
        self.write(&Line::Event {
            t_s: (t_s * 1e6).round() / 1e6,
            event: event.clone(),
        })
    }

    /// Writes a line at once and whole, or not at all.
    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        if self.torn {
            self.storage.cut(self.whole)?;
        }
        self.torn = true;
        if let Err(error) = self.storage.write_all(text.as_bytes()) {
            // Where even that fails it is tried again before the next line.
            self.torn = self.storage.cut(self.whole).is_err();
            return Err(error);
        }
        self.torn = false;
        self.whole += text.len() as u64;
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
