//! Gains read from a table.
//!
//! The format is CSV with the header `round,client,channel,gain_db`; rounds and clients count
//! from 0, channel 0 is the downlink and channel c > 0 the c-th uplink channel. Rows come in any
//! order. [`Recorder`](super::Recorder) writes such tables.

use std::collections::BTreeMap;
use std::io::{self, Read};

use csv::{ErrorKind, StringRecord, Trim};
use thiserror::Error;

use super::RoundState;
use crate::units::Db;

/// The header of a trace.
pub(super) const COLUMNS: [&str; 4] = ["round", "client", "channel", "gain_db"];

/// Error of a trace.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TraceError {
    /// The trace cannot be read.
    #[error("{name}: {source}")]
    Read { name: String, source: io::Error },
    /// A line is malformed, not finite or given twice.
    #[error("{name}:{line}: {problem}")]
    Line {
        name: String,
        line: usize,
        problem: String,
    },
    /// An entry that the run needs is missing; channel 0 is the downlink.
    #[error(
        "{name}: no gain for round {round}, client {client}, channel {channel}; \
         the trace must cover every round, client and channel of the run"
    )]
    Missing {
        name: String,
        round: u32,
        client: u32,
        channel: u32,
    },
}

/// Gains of a run, read from a table.
#[derive(Clone, Debug)]
pub struct Trace {
    name: String,
    gains: BTreeMap<Entry, f64>,
}

/// Round, client and channel.
type Entry = (u32, u32, u32);

impl Trace {
    /// Reads a trace; error messages call it `name`.
    ///
    /// # Errors
    /// Returns the first line that is malformed, not finite or given twice.
    pub fn read(name: impl Into<String>, mut source: impl Read) -> Result<Self, TraceError> {
        let name = name.into();
        let mut text = Vec::new();
        if let Err(source) = source.read_to_end(&mut text) {
            return Err(TraceError::Read { name, source });
        }
        match parse(&text) {
            Ok(gains) => Ok(Self { name, gains }),
            Err((after, problem)) => Err(TraceError::Line {
                name,
                line: line_after(&text, after),
                problem,
            }),
        }
    }

    /// Returns the gains of a round.
    ///
    /// # Errors
    /// Returns [`TraceError::Missing`] for the first missing entry.
    pub fn round(&self, round: u32, clients: u32, channels: u32) -> Result<RoundState, TraceError> {
        let gain = |client, channel| {
            self.gains
                .get(&(round, client, channel))
                .copied()
                .ok_or_else(|| TraceError::Missing {
                    name: self.name.clone(),
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

/// Parses a whole trace; an error has the byte at which the previous row ends.
fn parse(text: &[u8]) -> Result<BTreeMap<Entry, f64>, (u64, String)> {
    let mut rows = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .from_reader(text);
    let mut row = StringRecord::new();
    let mut gains = BTreeMap::new();
    let mut is_header = true;
    loop {
        let at = rows.position().byte();
        let more = rows
            .read_record(&mut row)
            .map_err(|error| (at, unreadable(&error)))?;
        if is_header && row != COLUMNS[..] {
            let (found, expected) = (shown(&row), COLUMNS.join(","));
            return Err((at, format!("header `{found}`, expected `{expected}`")));
        }
        if !more {
            return Ok(gains);
        }
        // A line of spaces is a row of one empty field.
        if !is_header && row != [""][..] {
            let (entry, gain) = parse_row(&row, at)?;
            if gains.insert(entry, gain).is_some() {
                let (round, client, channel) = entry;
                let problem =
                    format!("round {round}, client {client}, channel {channel} given twice");
                return Err((at, problem));
            }
        }
        is_header = false;
    }
}

fn parse_row(row: &StringRecord, at: u64) -> Result<(Entry, f64), (u64, String)> {
    let wrong = |problem: String| (at, problem);
    let fields: Vec<&str> = row.iter().collect();
    let [round, client, channel, gain_db] = fields[..] else {
        return Err(wrong(format!(
            "{} fields in `{}`, expected 4 ({})",
            fields.len(),
            shown(row),
            COLUMNS.join(",")
        )));
    };
    let count = |name: &str, text: &str| {
        text.parse::<u32>().map_err(|_| {
            wrong(format!(
                "{name} `{}` is not a whole number from 0 on",
                cut(text)
            ))
        })
    };
    let db: f64 = gain_db
        .parse()
        .map_err(|_| wrong(format!("gain_db `{}` is not a number", cut(gain_db))))?;
    let gain = Db(db).to_linear().0;
    // The product of a subnormal gain and a power may round to zero.
    if !gain.is_normal() {
        return Err(wrong(format!(
            "gain_db `{gain_db}` is not a finite, positive gain"
        )));
    }
    let entry = (
        count("round", round)?,
        count("client", client)?,
        count("channel", channel)?,
    );
    Ok((entry, gain))
}

fn unreadable(error: &csv::Error) -> String {
    match error.kind() {
        ErrorKind::Utf8 { .. } => "is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    }
}

/// Returns the line of the first row from a byte on; the CSV reader counts blank lines before a row
/// as part of it.
fn line_after(text: &[u8], after: u64) -> usize {
    let after = usize::try_from(after).unwrap_or(usize::MAX).min(text.len());
    let rest = &text[after..];
    let is_blank = |byte: &&u8| matches!(byte, b'\r' | b'\n');
    let start = after + rest.iter().take_while(is_blank).count();
    1 + text[..start].iter().filter(|&&byte| byte == b'\n').count()
}

/// Returns a row as text for messages.
fn shown(row: &StringRecord) -> String {
    cut(&row.iter().collect::<Vec<_>>().join(","))
}

/// Shortens a text: without a closing quotation mark the rest of the file is one field.
fn cut(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
