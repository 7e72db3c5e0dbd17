//! The log of a measurement, `marks.jsonl`: a line about the board, then a line a mark.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Mark;

/// The form of the log that this build writes and reads.
const FORM: u32 = 1;

/// Longest line; one of a mark has some 150 bytes.
const LONGEST: usize = 4096;

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The form of the log.
    #[serde(rename = "gleaner_marks")]
    form: u32,
    /// The board's name in the table of boards.
    pub board: String,
    /// Which firmware ran, as a digest.
    pub firmware: String,
    /// What the board was supplied with, if it is known.
    pub voltage_v: Option<f64>,
    /// Whether board or trace is emulated or made up: then nothing of it is a measurement.
    pub emulated: bool,
}

impl Header {
    /// Describes a measurement.
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

/// All that a board said in a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// What was measured.
    pub header: Header,
    /// Its phases in order.
    pub marks: Vec<Mark>,
}

/// A log that is refused.
#[derive(Debug, thiserror::Error)]
#[error("{file}, line {line}: {trouble}")]
pub struct MarkError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong there.
    pub trouble: Trouble,
}

/// What is wrong with a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The line does not say what it should.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// The line has no end.
    #[error("a line of more than {LONGEST} bytes; this is no log of marks")]
    LongLine,
    /// The first line is missing.
    #[error("the file is empty; the first line says the board, as `gleaner measure` writes it")]
    Empty,
    /// Another form of log.
    #[error("a log of form {0}; this build reads form {FORM}")]
    Form(u32),
    /// Marks are missing.
    #[error("mark {found} where mark {expected} is due; marks were lost, measure again")]
    Lost {
        /// The number that is due.
        expected: u32,
        /// The number that is there.
        found: u32,
    },
    /// The clock of the board ran backwards.
    #[error("time runs from {from} to {to} us; the board was reset, measure again")]
    Backwards {
        /// When the mark before began.
        from: u64,
        /// When this one began.
        to: u64,
    },
    /// A processor without a clock.
    #[error("clk_hz = 0; a processor that works has a clock")]
    NoClock,
    /// The last line was cut off.
    #[error("the last line has no end; the log was cut off, measure again")]
    Torn,
}

impl Log {
    /// Reads a log from a file.
    ///
    /// # Errors
    /// What is wrong with it, and in which line.
    pub fn open(path: &Path) -> Result<Self, MarkError> {
        let file = path.display().to_string();
        match File::open(path) {
            Ok(source) => Self::read(&file, BufReader::new(source)),
            Err(error) => Err(MarkError {
                file,
                line: 1,
                trouble: error.into(),
            }),
        }
    }

    /// Reads a log; `file` is its name in messages.
    ///
    /// # Errors
    /// What is wrong with it, and in which line.
    pub fn read(file: &str, mut source: impl BufRead) -> Result<Self, MarkError> {
        let mut number = 0;
        let mut read = || {
            number += 1;
            line(&mut source).map_err(|trouble| (number, trouble))
        };
        let mut log = || -> Result<Self, (u64, Trouble)> {
            let Some(first) = read()? else {
                return Err((1, Trouble::Empty));
            };
            let header: Header = serde_json::from_slice(&first).map_err(|e| (1, e.into()))?;
            if header.form != FORM {
                return Err((1, Trouble::Form(header.form)));
            }
            let mut marks: Vec<Mark> = Vec::new();
            while let Some(text) = read()? {
                let at = marks.len() as u64 + 2;
                let mark = serde_json::from_slice(&text).map_err(|e| (at, e.into()))?;
                follows(marks.last(), &mark).map_err(|trouble| (at, trouble))?;
                marks.push(mark);
            }
            Ok(Self { header, marks })
        };
        log().map_err(|(line, trouble)| MarkError {
            file: file.to_owned(),
            line,
            trouble,
        })
    }

    /// Writes the log.
    ///
    /// # Errors
    /// Whatever the system refuses.
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

/// Accepts a mark behind another, or the first.
fn follows(before: Option<&Mark>, mark: &Mark) -> Result<(), Trouble> {
    let expected = before.map_or(0, |before| before.seq.wrapping_add(1));
    if mark.seq != expected {
        return Err(Trouble::Lost {
            expected,
            found: mark.seq,
        });
    }
    let from = before.map_or(0, |before| before.t_us);
    if mark.t_us < from {
        return Err(Trouble::Backwards {
            from,
            to: mark.t_us,
        });
    }
    if mark.clk_hz == 0 {
        return Err(Trouble::NoClock);
    }
    Ok(())
}

/// The next line without its end, or nothing at the end of the file.
fn line(source: &mut impl BufRead) -> Result<Option<Vec<u8>>, Trouble> {
    let mut text = Vec::new();
    let read = source
        .by_ref()
        .take(LONGEST as u64 + 1)
        .read_until(b'\n', &mut text)?;
    if read == 0 {
        return Ok(None);
    }
    match text.pop() {
        Some(b'\n') => Ok(Some(text)),
        _ if read > LONGEST => Err(Trouble::LongLine),
        _ => Err(Trouble::Torn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_shared::energy::Phase;

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

    fn refused(bytes: &[u8]) -> String {
        Log::read("marks.jsonl", bytes).unwrap_err().to_string()
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
    fn lost_marks_and_clocks_that_run_backwards_are_named_by_line() {
        assert_eq!(
            refused(&text(&[mark(0, 10), mark(2, 20)])),
            "marks.jsonl, line 3: mark 2 where mark 1 is due; marks were lost, measure again"
        );
        assert_eq!(
            refused(&text(&[mark(0, 10), mark(1, 20), mark(2, 19)])),
            "marks.jsonl, line 4: time runs from 20 to 19 us; the board was reset, measure again"
        );
        assert!(refused(&text(&[mark(1, 10)])).contains("line 2: mark 1 where mark 0"));
        let still = Mark {
            clk_hz: 0,
            ..mark(0, 1)
        };
        assert!(refused(&text(&[still])).contains("line 2: clk_hz = 0"));
    }

    #[test]
    fn unknown_phases_keys_and_forms_are_refused() {
        let good = String::from_utf8(text(&[mark(0, 10)])).unwrap();
        let strange = good.replace("train", "dream");
        let message = refused(strange.as_bytes());
        assert!(
            message.contains("line 2") && message.contains("dream"),
            "{message}"
        );
        assert!(message.contains("transmit"), "{message}");
        let extra = good.replace("\"seq\"", "\"more\":1,\"seq\"");
        assert!(refused(extra.as_bytes()).contains("unknown field `more`"));
        let later = good.replace("\"gleaner_marks\":1", "\"gleaner_marks\":2");
        assert!(refused(later.as_bytes()).contains("line 1: a log of form 2"));
    }

    #[test]
    fn torn_empty_and_endless_logs_are_refused() {
        let good = text(&[mark(0, 10), mark(1, 20)]);
        assert!(refused(&good[..good.len() - 1]).contains("line 3: the last line has no end"));
        assert!(refused(b"").contains("line 1: the file is empty"));
        assert!(refused(&[b'x'; LONGEST + 9]).contains("line 1: a line of more than"));
        for cut in 0..good.len() {
            // Every cut is refused, or leaves whole lines.
            if let Ok(log) = Log::read("cut", &good[..cut]) {
                assert!(good[..cut].ends_with(b"\n"));
                assert!(log.marks.len() < 2);
            }
        }
    }
}
