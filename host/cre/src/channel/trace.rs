//! Gains from a file instead of a generator, and the recorder that writes such files.
//!
//! The format is CSV with the header `round,client,channel,gain_db`; rounds and clients count
//! from 0, channel 0 is the downlink and channel c > 0 the c-th uplink channel. A recorded run
//! reads back to the very same doubles: decibels are written with the digits that identify a
//! double, and drawn gains lie on the grid such decibels can express.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::draw::RoundState;
use crate::units::{Db, Gain};

const HEADER: &str = "round,client,channel,gain_db";

/// What is wrong with a trace.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is not what it should be.
    #[error("{path}:{line}: {problem}", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong, with the value.
        problem: String,
    },
    /// The trace has no entry the run needs.
    #[error(
        "{path}: no gain for round {round}, client {client}, channel {channel}; \
         the trace must cover every round, client and channel of the run",
        path = path.display()
    )]
    Missing {
        /// The file.
        path: PathBuf,
        /// The round.
        round: u32,
        /// The client.
        client: u32,
        /// The channel; 0 is the downlink.
        channel: u32,
    },
}

/// Recorded gains.
#[derive(Clone, Debug)]
pub struct Trace {
    path: PathBuf,
    gains: BTreeMap<(u32, u32, u32), f64>,
}

impl Trace {
    /// Reads a trace.
    ///
    /// # Errors
    /// Names file, line and value of whatever is missing, malformed, not finite or given twice.
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let text = fs::read_to_string(path).map_err(|source| TraceError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, TraceError> {
        let fail = |line, problem| TraceError::Line {
            path: path.to_owned(),
            line,
            problem,
        };
        let mut lines = (1..).zip(text.lines());
        match lines.next() {
            Some((_, header)) if header.trim() == HEADER => {}
            header => {
                let found = header.map_or("", |(_, text)| text);
                return Err(fail(1, format!("header `{found}`, expected `{HEADER}`")));
            }
        }
        let mut gains = BTreeMap::new();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let (key, gain) = parse_row(line).map_err(|problem| fail(number, problem))?;
            if gains.insert(key, gain).is_some() {
                let (round, client, channel) = key;
                let problem =
                    format!("round {round}, client {client}, channel {channel} given twice");
                return Err(fail(number, problem));
            }
        }
        Ok(Self {
            path: path.to_owned(),
            gains,
        })
    }

    /// Returns the gains of a round.
    ///
    /// # Errors
    /// [`TraceError::Missing`] names the first entry that is not there.
    pub fn round(&self, round: u32, clients: u32, channels: u32) -> Result<RoundState, TraceError> {
        let gain = |client, channel| {
            self.gains
                .get(&(round, client, channel))
                .copied()
                .ok_or_else(|| TraceError::Missing {
                    path: self.path.clone(),
                    round,
                    client,
                    channel,
                })
        };
        let mut state = RoundState {
            downlink: Vec::new(),
            uplink: Vec::new(),
        };
        for client in 0..clients {
            state.downlink.push(gain(client, 0)?);
            state.uplink.push(
                (1..=channels)
                    .map(|c| gain(client, c))
                    .collect::<Result<_, _>>()?,
            );
        }
        Ok(state)
    }
}

fn parse_row(line: &str) -> Result<((u32, u32, u32), f64), String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [round, client, channel, gain_db] = fields[..] else {
        return Err(format!(
            "{} fields in `{line}`, expected 4 ({HEADER})",
            fields.len()
        ));
    };
    let count = |name: &str, text: &str| {
        text.parse::<u32>()
            .map_err(|_| format!("{name} `{text}` is not a whole number from 0 on"))
    };
    let db: f64 = gain_db
        .parse()
        .map_err(|_| format!("gain_db `{gain_db}` is not a number"))?;
    let gain = Db(db).to_linear().0;
    if !(gain.is_finite() && gain > 0.0) {
        return Err(format!(
            "gain_db `{gain_db}` is not a finite, positive gain"
        ));
    }
    let key = (
        count("round", round)?,
        count("client", client)?,
        count("channel", channel)?,
    );
    Ok((key, gain))
}

/// Writes the gains of a run as a trace.
#[derive(Debug)]
pub struct Recorder<W: Write> {
    out: W,
}

impl<W: Write> Recorder<W> {
    /// Starts a trace with its header.
    ///
    /// # Errors
    /// What the writer says.
    pub fn new(mut out: W) -> io::Result<Self> {
        writeln!(out, "{HEADER}")?;
        Ok(Self { out })
    }

    /// Appends a round.
    ///
    /// # Errors
    /// What the writer says.
    pub fn record(&mut self, round: u32, state: &RoundState) -> io::Result<()> {
        for (client, (&down, up)) in state.downlink.iter().zip(&state.uplink).enumerate() {
            for (channel, &gain) in std::iter::once(&down).chain(up).enumerate() {
                writeln!(self.out, "{round},{client},{channel},{}", faithful_db(gain))?;
            }
        }
        Ok(())
    }

    /// Ends the trace and gives the writer back.
    ///
    /// # Errors
    /// What the writer says.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Returns the decibels that [`Db::to_linear`] turns into `gain`.
///
/// The logarithm may be a few units in the last place off, so the neighbours are tried too. For
/// a gain that is not [`on_decibel_grid`] the nearest decibels are returned.
fn faithful_db(gain: f64) -> f64 {
    let start = Gain(gain).to_db().0;
    let (mut below, mut above) = (start, start);
    for _ in 0..8 {
        for candidate in [below, above] {
            if Db(candidate).to_linear().0 == gain {
                return candidate;
            }
        }
        (below, above) = (below.next_down(), above.next_up());
    }
    start
}

/// Rounds a gain to one that decibels in double precision express, within 1e-15 of it.
///
/// Doubles are denser on the linear scale than on the logarithmic one (near -60 dB by a factor of
/// about ten), so only gains on this grid survive a decibel file bit for bit. The emulation hands
/// out no others.
#[must_use]
pub(super) fn on_decibel_grid(gain: Gain) -> Gain {
    gain.to_db().to_linear()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Emulation;
    use crate::system::fixture;

    fn parse(text: &str) -> Result<Trace, TraceError> {
        Trace::parse(Path::new("gains.csv"), text)
    }

    #[test]
    fn a_recorded_run_reads_back_to_identical_gains() {
        let emulation = Emulation::new(42, 40, 5, fixture::cnn().radio);
        let mut recorder = Recorder::new(Vec::new()).expect("a vector takes bytes");
        for round in 0..20 {
            recorder
                .record(round, &emulation.round(round))
                .expect("a vector takes bytes");
        }
        let bytes = recorder.finish().expect("a vector takes bytes");
        let trace = parse(std::str::from_utf8(&bytes).expect("CSV is text")).expect("own format");
        for round in 0..20 {
            assert_eq!(
                trace.round(round, 40, 5).expect("all there"),
                emulation.round(round)
            );
        }
    }

    #[test]
    fn bad_lines_are_named_with_file_line_and_value() {
        let error = |row: &str| {
            parse(&format!("{HEADER}\n0,0,0,-60\n{row}\n"))
                .expect_err(row)
                .to_string()
        };
        assert_eq!(
            error("0,0"),
            "gains.csv:3: 2 fields in `0,0`, expected 4 (round,client,channel,gain_db)"
        );
        assert_eq!(
            error("0,-1,0,-60"),
            "gains.csv:3: client `-1` is not a whole number from 0 on"
        );
        assert_eq!(
            error("0,1,0,loud"),
            "gains.csv:3: gain_db `loud` is not a number"
        );
        assert_eq!(
            error("0,1,0,NaN"),
            "gains.csv:3: gain_db `NaN` is not a finite, positive gain"
        );
        assert_eq!(
            error("0,1,0,1e9"),
            "gains.csv:3: gain_db `1e9` is not a finite, positive gain"
        );
        assert_eq!(
            error("0,0,0,-61"),
            "gains.csv:3: round 0, client 0, channel 0 given twice"
        );
        assert!(
            parse("a,b\n")
                .expect_err("header")
                .to_string()
                .contains("header `a,b`")
        );
    }

    #[test]
    fn a_gap_in_the_trace_is_named() {
        let trace = parse("round,client,channel,gain_db\n0,0,0,-60\n0,0,1,-61\n").expect("good");
        assert!(trace.round(0, 1, 1).is_ok());
        let error = trace.round(0, 1, 2).expect_err("no channel 2").to_string();
        assert!(error.contains("round 0, client 0, channel 2"), "{error}");
    }
}
