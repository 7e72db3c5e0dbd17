//! The event log, `events.jsonl`: one line per thing that happened, with the wall time since the
//! session began.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use gleaner_learn::file::{self, FileError};
use serde::{Deserialize, Serialize};

use super::event::Event;

/// The file in a run's directory.
pub const EVENTS: &str = "events.jsonl";

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// Something happened to a client.
    Event {
        /// Wall time since the session began.
        t_s: f64,
        /// What happened, and to whom.
        #[serde(flatten)]
        event: Event,
    },
    /// A session began; whatever was logged of later rounds did not count.
    Session {
        /// The round it continues after.
        session_after_round: u32,
    },
}

impl Line {
    /// Returns the round it is about, if any.
    const fn round(&self) -> Option<u32> {
        match self {
            Self::Event { event, .. } => event.round,
            Self::Session {
                session_after_round,
            } => Some(*session_after_round),
        }
    }
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventLogError {
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another run writes it.
    #[error(
        "{}: another run is writing here; wait for its end, or choose another directory with --out",
        path.display()
    )]
    InUse {
        /// The event log.
        path: PathBuf,
    },
    /// A line is not what was written.
    #[error("{}, line {line}: {what}", path.display())]
    Line {
        /// The event log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
}

/// A log being written.
#[derive(Debug)]
pub struct EventLog {
    file: File,
    begin: Instant,
}

impl EventLog {
    /// Opens the log for a session that continues after a round; 0 is a new run. Until it is
    /// dropped nobody else may open it, so that no two runs share a directory.
    ///
    /// # Errors
    /// Names the file.
    pub fn open(path: &Path, after_round: u32) -> Result<Self, EventLogError> {
        let failed = file::at(path);
        let mut options = OpenOptions::new();
        let file = options
            .create(true)
            .append(true)
            .open(path)
            .map_err(&failed)?;
        // A file system without locks keeps nobody out.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let path = path.to_owned();
            return Err(EventLogError::InUse { path });
        }
        let mut log = Self {
            file,
            begin: Instant::now(),
        };
        let line = Line::Session {
            session_after_round: after_round,
        };
        log.write(&line).map_err(failed)?;
        Ok(log)
    }

    /// Appends what happened.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        let t_s = self.begin.elapsed().as_secs_f64();
        self.write(&Line::Event {
            t_s: (t_s * 1e6).round() / 1e6,
            event: event.clone(),
        })
    }

    /// A line is written at once and whole, so that a crash leaves at most the last one cut.
    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes())
    }
}

/// Goes through a `Value`: with defmt's decoder in the build, serde_json keeps numbers as text, and
/// a flattened or untagged type takes them from a `Value` only.
fn parse(text: &str) -> serde_json::Result<Line> {
    Line::deserialize(serde_json::from_str::<serde_json::Value>(text)?)
}

/// Reads a log; a line cut by a crash ends a session and is passed over.
///
/// # Errors
/// Names file and line.
pub fn read(path: &Path) -> Result<Vec<Line>, EventLogError> {
    read_rounds(path, u32::MAX)
}

/// Reads the log of a run that has so many rounds, and refuses one that tells of more.
///
/// # Errors
/// Names file and line.
pub fn read_rounds(path: &Path, rounds: u32) -> Result<Vec<Line>, EventLogError> {
    let file = BufReader::new(File::open(path).map_err(file::at(path))?);
    let texts = file.lines().collect::<Result<Vec<String>, _>>();
    let texts = texts.map_err(file::at(path))?;
    let mut lines = Vec::with_capacity(texts.len());
    for (at, text) in texts.iter().enumerate() {
        match parse(text) {
            Ok(line) => match line.round() {
                Some(round) if round > rounds => {
                    return Err(EventLogError::Line {
                        path: path.to_owned(),
                        line: at + 1,
                        what: format!("round {round}, but the scenario has {rounds} rounds"),
                    });
                }
                _ => lines.push(line),
            },
            // A crash cut the line; the next session's first line was appended to it.
            Err(_) if text.contains("{\"session_after_round\"") || at + 1 == texts.len() => {
                let begins = text.find("{\"session_after_round\"").unwrap_or(text.len());
                lines.extend(parse(&text[begins..]).ok());
            }
            Err(error) => {
                return Err(EventLogError::Line {
                    path: path.to_owned(),
                    line: at + 1,
                    what: error.to_string(),
                });
            }
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::event::EventKind;

    fn event(round: u32) -> Event {
        Event {
            client: 2,
            round: Some(round),
            what: EventKind::Absent {
                reason: "gone".to_owned(),
            },
        }
    }

    #[test]
    fn what_was_written_is_read_even_after_a_crash_in_the_middle_of_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(EVENTS);
        let mut log = EventLog::open(&path, 0).unwrap();
        log.append(&event(1)).unwrap();
        log.append(&event(2)).unwrap();
        drop(log);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        let mut log = EventLog::open(&path, 1).unwrap();
        log.append(&event(3)).unwrap();
        let kinds: Vec<Option<u32>> = read(&path)
            .unwrap()
            .into_iter()
            .map(|line| match line {
                Line::Event { event, .. } => event.round,
                Line::Session { .. } => None,
            })
            .collect();
        assert_eq!(kinds, [None, Some(1), None, Some(3)]);
    }

    #[test]
    fn a_log_is_written_by_one_run_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(EVENTS);
        let first = EventLog::open(&path, 0).unwrap();
        let refused = EventLog::open(&path, 0).unwrap_err();
        assert!(matches!(refused, EventLogError::InUse { .. }), "{refused}");
        drop(first);
        EventLog::open(&path, 0).unwrap();
    }

    #[test]
    fn a_round_beyond_the_scenario_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(EVENTS);
        let mut log = EventLog::open(&path, 0).unwrap();
        log.append(&event(5)).unwrap();
        assert_eq!(read_rounds(&path, 5).unwrap().len(), 2);
        log.append(&event(4_000_000_000)).unwrap();
        let message = read_rounds(&path, 5).unwrap_err().to_string();
        let end = "line 3: round 4000000000, but the scenario has 5 rounds";
        assert!(message.ends_with(end), "{message}");
    }

    #[test]
    fn a_line_nobody_wrote_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(EVENTS);
        std::fs::write(&path, "{\"session_after_round\":0}\nnonsense\n{}\n").unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains("line 2"), "{message}");
    }
}
