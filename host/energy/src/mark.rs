//! Marks: the phases that a measured board reports, one mark per phase, and their log
//! `marks.jsonl` with one line about the board and one line per mark.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use gleaner_shared::energy::Phase;
use serde::{Deserialize, Serialize};

use crate::InputError;

/// Version of the log's format.
const FORM: u32 = 1;

/// Longest accepted line; the line of a mark has about 150 bytes.
const LONGEST: usize = 4096;

/// One phase of a measured board, reported when the phase is over.
///
/// A phase lasts from its own `t_us` to that of the next mark, so marks leave no gap. While it
/// lasts the board's pins show the phase's code; two marks of one phase in a row share one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Number of the mark, from 0; a missing number is a lost mark.
    pub seq: u32,
    /// Phase that the board reports.
    #[serde(with = "by_name")]
    pub phase: Phase,
    /// Start of the phase, in microseconds of the board's own clock.
    pub t_us: u64,
    /// Processor cycles of the phase, as the board counted them; 0 while it waits.
    pub cycles: u64,
    /// Number of processed samples.
    pub samples: u32,
    /// Number of bytes received or transmitted.
    pub bytes: u32,
    /// Clock of the processor during the phase.
    pub clk_hz: u32,
}

/// Serialises phases by their names.
mod by_name {
    use gleaner_shared::energy::Phase;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(phase: &Phase, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(phase.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Phase, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Phase::ALL.into_iter().find(|phase| phase.name() == name);
        known.ok_or_else(|| {
            let names: Vec<&str> = Phase::ALL.iter().map(|phase| phase.name()).collect();
            D::Error::custom(format!(
                "no phase is called {name:?}; phases are {}",
                names.join(", ")
            ))
        })
    }
}

/// First line of a log: the measured board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    #[serde(rename = "gleaner_marks")]
    form: u32,
    /// Name of the board in the table of boards.
    pub board: String,
    /// Digest of the firmware.
    pub firmware: String,
    /// Supply voltage of the board, if known.
    pub voltage_v: Option<f64>,
    /// Whether the board is emulated or the trace synthetic, so that nothing is a measurement.
    pub emulated: bool,
}

impl Header {
    /// Returns the header of a measurement.
    #[must_use]
    pub fn new(board: &str, firmware: &str, voltage_v: Option<f64>, emulated: bool) -> Self {
        Self {
            form: FORM,
            board: board.to_owned(),
            firmware: firmware.to_owned(),
            voltage_v,
            emulated,
        }
    }
}

/// The log of a measurement, with its marks in order.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Log {
    pub header: Header,
    pub marks: Vec<Mark>,
}

/// Error of a log: the file, the line, counted from 1, the problem and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {problem}")]
#[allow(missing_docs)]
pub struct MarkError {
    pub file: String,
    pub line: u64,
    pub problem: String,
}

impl Log {
    /// Reads a log from a file.
    ///
    /// # Errors
    /// Returns the first line that is malformed or out of order.
    pub fn open(path: &Path) -> Result<Self, MarkError> {
        let file = path.display().to_string();
        match File::open(path) {
            Ok(source) => Self::read(&file, BufReader::new(source)),
            Err(error) => Err(MarkError {
                file,
                line: 1,
                problem: error.to_string(),
            }),
        }
    }

    /// Reads a log; error messages call it `file`.
    ///
    /// ```
    /// use gleaner_energy::mark::{Header, Log};
    /// use gleaner_energy::synth::Plan;
    ///
    /// let header = Header::new("rp2040", "abc", Some(3.3), true);
    /// let log = Log { header, marks: Plan::default().marks(1) };
    /// let mut bytes = Vec::new();
    /// log.write(&mut bytes)?;
    /// assert_eq!(Log::read("marks.jsonl", &bytes[..])?, log);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the first line that is malformed or out of order.
    pub fn read(file: &str, mut source: impl BufRead) -> Result<Self, MarkError> {
        let mut number = 0;
        let mut read = || {
            number += 1;
            line(&mut source).map_err(|problem| (number, problem.0))
        };
        let mut log = || -> Result<Self, (u64, String)> {
            let Some(first) = read()? else {
                let problem = "the file is empty; the first line names the board, as `gleaner measure` writes it";
                return Err((1, problem.to_owned()));
            };
            let header: Header = serde_json::from_slice(&first).map_err(|e| (1, e.to_string()))?;
            if header.form != FORM {
                let problem = format!("a log of version {}; this build reads {FORM}", header.form);
                return Err((1, problem));
            }
            let mut marks: Vec<Mark> = Vec::new();
            while let Some(text) = read()? {
                let at = marks.len() as u64 + 2;
                let mark = serde_json::from_slice(&text).map_err(|e| (at, e.to_string()))?;
                if let Some(problem) = out_of_order(marks.last(), &mark) {
                    return Err((at, problem));
                }
                marks.push(mark);
            }
            Ok(Self { header, marks })
        };
        log().map_err(|(line, problem)| MarkError {
            file: file.to_owned(),
            line,
            problem,
        })
    }

    /// Writes the log.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn write(&self, target: impl Write) -> io::Result<()> {
        let mut target = BufWriter::new(target);
        serde_json::to_writer(&mut target, &self.header)?;
        target.write_all(b"\n")?;
        for mark in &self.marks {
            serde_json::to_writer(&mut target, mark)?;
            target.write_all(b"\n")?;
        }
        target.flush()
    }
}

/// Returns the problem of a mark that does not follow the one before it.
fn out_of_order(before: Option<&Mark>, mark: &Mark) -> Option<String> {
    let expected = before.map_or(0, |before| before.seq.wrapping_add(1));
    let (found, from, to) = (mark.seq, before.map_or(0, |it| it.t_us), mark.t_us);
    if found != expected {
        let problem = format!("mark {found}, expected {expected}; marks were lost, measure again");
        return Some(problem);
    }
    if to < from {
        return Some(format!(
            "time runs from {from} to {to} us; the board was reset, measure again"
        ));
    }
    (mark.clk_hz == 0).then(|| "clk_hz = 0; the clock must be above 0".to_owned())
}

/// Returns the next line without its end, or `None` at the end of the file.
fn line(source: &mut impl BufRead) -> Result<Option<Vec<u8>>, InputError> {
    let mut text = Vec::new();
    let mut limited = source.by_ref().take(LONGEST as u64 + 1);
    let read = limited.read_until(b'\n', &mut text);
    let read = read.map_err(|error| InputError(error.to_string()))?;
    if read == 0 {
        return Ok(None);
    }
    match text.pop() {
        Some(b'\n') => Ok(Some(text)),
        _ if read > LONGEST => Err(InputError(format!(
            "a line of more than {LONGEST} bytes; this is not a log of marks"
        ))),
        _ => Err(InputError(
            "the last line has no end; the log was cut off, measure again".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(seq: u32, t_us: u64) -> Mark {
        Mark {
            seq,
            phase: Phase::Train,
            t_us,
            cycles: 7,
            samples: 1,
            bytes: 0,
            clk_hz: 48_000_000,
        }
    }

    fn text(marks: &[Mark]) -> Vec<u8> {
        let log = Log {
            header: Header::new("rp2040", "abc", Some(3.3), true),
            marks: marks.to_vec(),
        };
        let mut bytes = Vec::new();
        log.write(&mut bytes).unwrap();
        bytes
    }

    /// Returns the line of the error.
    fn refused(bytes: &[u8]) -> u64 {
        Log::read("marks.jsonl", bytes).unwrap_err().line
    }

    #[test]
    fn a_log_is_read_as_it_was_written() {
        let marks = [mark(0, 10), mark(1, 10), mark(2, 35)];
        let log = Log::read("marks.jsonl", &text(&marks)[..]).unwrap();
        assert_eq!(log.marks, marks);
        assert_eq!(log.header, Header::new("rp2040", "abc", Some(3.3), true));
        let second = String::from_utf8(text(&marks)).unwrap();
        let second = second.lines().nth(1).unwrap().to_owned();
        assert_eq!(
            second,
            r#"{"seq":0,"phase":"train","t_us":10,"cycles":7,"samples":1,"bytes":0,"clk_hz":48000000}"#
        );
    }

    #[test]
    fn lost_marks_and_clocks_that_run_backwards_are_rejected_by_line() {
        assert_eq!(refused(&text(&[mark(0, 10), mark(2, 20)])), 3);
        assert_eq!(refused(&text(&[mark(0, 10), mark(1, 20), mark(2, 19)])), 4);
        assert_eq!(refused(&text(&[mark(1, 10)])), 2);
        let still = Mark {
            clk_hz: 0,
            ..mark(0, 1)
        };
        assert_eq!(refused(&text(&[still])), 2);
    }

    #[test]
    fn unknown_phases_keys_and_versions_are_rejected_by_line() {
        let good = String::from_utf8(text(&[mark(0, 10)])).unwrap();
        for (from, to, line) in [
            ("train", "dream", 2),
            ("\"seq\"", "\"more\":1,\"seq\"", 2),
            ("\"gleaner_marks\":1", "\"gleaner_marks\":2", 1),
        ] {
            assert_eq!(refused(good.replace(from, to).as_bytes()), line, "{to}");
        }
    }

    #[test]
    fn torn_empty_and_endless_logs_are_rejected() {
        let good = text(&[mark(0, 10), mark(1, 20)]);
        assert_eq!(refused(b""), 1);
        assert_eq!(refused(&[b'x'; LONGEST + 9]), 1);
        for cut in 0..good.len() {
            // Every cut is rejected, or leaves whole lines.
            if let Ok(log) = Log::read("cut", &good[..cut]) {
                assert!(good[..cut].ends_with(b"\n"));
                assert!(log.marks.len() < 2);
            }
        }
    }
}
