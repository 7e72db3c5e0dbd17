//! Reads the event log line by line, in the memory of one line.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{EventLogError, Line};

/// Longest line; no event is nearly as long.
const LONGEST: usize = 1 << 16;

/// Start of a session's line.
const SESSION: &[u8] = b"{\"session_after_round\"";

/// Reads a log line by line; a line that a crash cut off is skipped.
///
/// # Errors
/// Names the file, and every item names file and line.
pub fn each_line(path: &Path) -> Result<Lines, EventLogError> {
    each_line_within(path, u32::MAX)
}

/// Reads the log of a run of `rounds` rounds; a line about a later round is an error.
///
/// # Errors
/// As [`each_line`].
pub fn each_line_within(path: &Path, rounds: u32) -> Result<Lines, EventLogError> {
    let file = gleaner_files::open_regular(path).map_err(gleaner_files::at(path))?;
    Ok(Lines {
        source: BufReader::new(file),
        path: path.to_owned(),
        rounds,
        text: Vec::new(),
        number: 0,
        over: false,
    })
}

/// The lines of a log, up to the first error.
#[derive(Debug)]
pub struct Lines<R = BufReader<File>> {
    source: R,
    path: PathBuf,
    rounds: u32,
    text: Vec<u8>,
    number: u64,
    over: bool,
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Line, EventLogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let item = self.read().transpose();
        self.over = !matches!(item, Some(Ok(_)));
        item
    }
}

impl<R: BufRead> Lines<R> {
    fn read(&mut self) -> Result<Option<Line>, EventLogError> {
        self.number += 1;
        match gleaner_files::read_line(&mut self.source, &mut self.text, LONGEST) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(self.wrong(error.to_string()));
            }
            Err(error) => return Err(gleaner_files::at(&self.path)(error).into()),
        }
        let line = match parse(&self.text) {
            Ok(line) => line,
            Err(error) => match self.after_a_crash() {
                Some(session) => session,
                // A crash cut off the last line.
                None if !self.text.ends_with(b"\n") => return Ok(None),
                None => return Err(self.wrong(error.to_string())),
            },
        };
        match line.round() {
            Some(round) if round > self.rounds => {
                let rounds = self.rounds;
                let what = format!("round {round}, but the scenario has {rounds} rounds");
                Err(self.wrong(what))
            }
            _ => Ok(Some(line)),
        }
    }

    /// Returns the session that an earlier version appended to a cut line.
    fn after_a_crash(&self) -> Option<Line> {
        let mut places = self.text.windows(SESSION.len());
        let begins = places.position(|place| place == SESSION)?;
        parse(&self.text[begins..]).ok()
    }

    fn wrong(&self, what: String) -> EventLogError {
        EventLogError::Line {
            path: self.path.clone(),
            line: self.number,
            what,
        }
    }
}

/// Parses through a `Value`: with defmt's decoder in the build, serde_json keeps numbers as text,
/// which flattened and untagged types accept from a `Value` only.
pub(super) fn parse(text: &[u8]) -> serde_json::Result<Line> {
    Line::deserialize(serde_json::from_slice::<serde_json::Value>(text)?)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::log::EVENTS;

    /// A log of `left` equal lines in memory.
    struct Endless {
        line: Vec<u8>,
        left: usize,
        at: usize,
    }

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.left == 0 {
                return Ok(0);
            }
            let read = (&self.line[self.at..]).read(buffer)?;
            self.at += read;
            if self.at == self.line.len() {
                self.at = 0;
                self.left -= 1;
            }
            Ok(read)
        }
    }

    fn lines_of<R: Read>(source: R) -> Lines<BufReader<R>> {
        Lines {
            source: BufReader::new(source),
            path: PathBuf::from(EVENTS),
            rounds: u32::MAX,
            text: Vec::new(),
            number: 0,
            over: false,
        }
    }

    #[test]
    fn a_log_of_64_megabytes_takes_the_memory_of_a_line() {
        let reason = "dark ".repeat(200);
        let line = format!(
            "{{\"t_s\":1,\"client\":1,\"round\":2,\"event\":\"lost\",\"reason\":\"{reason}\"}}\n"
        );
        let left = (64 << 20) / line.len();
        let line = line.into_bytes();
        let mut lines = lines_of(Endless { line, left, at: 0 });
        let read = lines.by_ref().map(Result::unwrap).count();
        assert_eq!(read, left);
        assert!(lines.text.capacity() < 4096, "{}", lines.text.capacity());
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let mut lines = lines_of(io::repeat(b'['));
        let message = lines.next().unwrap().unwrap_err().to_string();
        assert!(
            message.contains("line 1:") && message.contains("65536"),
            "{message}"
        );
        assert!(lines.text.capacity() <= 4 * LONGEST);
        assert!(lines.next().is_none());
    }

    #[test]
    fn bytes_that_are_no_text_are_named_with_their_line() {
        let mut lines = lines_of(&b"{\"session_after_round\":0}\n\xff\xfe\n"[..]);
        assert!(lines.next().unwrap().is_ok());
        let message = lines.next().unwrap().unwrap_err().to_string();
        assert!(message.contains("line 2"), "{message}");
    }

    #[test]
    fn a_session_that_an_earlier_version_appended_to_half_a_line_is_found() {
        let text = "{\"session_after_round\":0}\n{\"t_s\":0.5,\"cl{\"session_after_round\":1}\n";
        let lines: Result<Vec<Line>, _> = lines_of(text.as_bytes()).collect();
        let session = |session_after_round| Line::Session {
            session_after_round,
        };
        assert_eq!(lines.unwrap(), [session(0), session(1)]);
    }

    #[test]
    fn an_invalid_line_is_named() {
        let lines = lines_of(&b"{\"session_after_round\":0}\nnonsense\n{}\n"[..]);
        let message = lines.last().unwrap().unwrap_err().to_string();
        assert!(message.contains("line 2"), "{message}");
    }
}
