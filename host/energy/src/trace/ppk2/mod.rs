//! Recordings of Nordic's Power Profiler Kit II, as its application saves them.
//!
//! An archive (`.ppk2`) is a ZIP of `session.raw`, six bytes a sample, `metadata.json` and
//! `minimap.raw`, the overview that the application draws. The form is that of the application's
//! version 4, read from its source (`pc-nrfconnect-ppk`): `addData` and `getBitData` in
//! `src/globals.ts`, `src/utils/saveFileHandler.ts`, `loadFileHandler.ts`, `foldingBuffer.ts` and
//! `bitConversion.ts`, and what becomes of lost samples in `src/actions/deviceActions.ts`.

mod archive;
mod calibration;
mod minimap;
mod raw;
mod reader;
mod writer;

pub use calibration::Calibration;
pub use raw::{RawReader, RawWriter};
pub use reader::Reader;
pub use writer::Writer;

use serde::{Deserialize, Serialize};

/// Bytes of a sample: the current in microamperes (f32, little-endian), then a pair of bits for
/// each of eight inputs (u16, big-endian, input 0 lowest).
const FRAME: usize = 6;

/// What the application stores where the meter lost a sample.
const LOST_UA: f32 = 0.2;

/// The low bit of every pair: seen low. A lost sample has them all.
const ALL_LOW: u16 = 0x5555;

/// Less than this the meter does not resolve, and the application stores zero.
const LEAST_UA: f64 = 0.2;

/// Names in the archive.
const SESSION: &str = "session.raw";
const METADATA: &str = "metadata.json";
const MINIMAP: &str = "minimap.raw";

/// The archive's form.
const FORMAT: u32 = 2;

/// Returns a current, in microamperes, as the application stores it; never the mark of a lost
/// sample.
pub(crate) fn shown(current_ua: f64, pins: u8) -> f32 {
    if current_ua < LEAST_UA {
        return 0.0;
    }
    let stored = current_ua as f32;
    if stored.to_bits() == LOST_UA.to_bits() && pins == 0 {
        return stored.next_up();
    }
    stored
}

/// Tells whether a stored sample stands for a lost one.
fn is_lost(current_ua: f32, pairs: u16) -> bool {
    (current_ua.to_bits() == LOST_UA.to_bits() && pairs & ALL_LOW == ALL_LOW) || current_ua.is_nan()
}

/// Spreads levels to pairs: 01 for low, 10 for high.
const fn pairs(levels: u8) -> u16 {
    let mut spread = 0;
    let mut input = 0;
    while input < 8 {
        spread |= if levels >> input & 1 == 1 { 2 } else { 1 } << (2 * input);
        input += 1;
    }
    spread
}

/// Gathers levels from pairs; an input that was both (11) or unknown (00) keeps its level of
/// `before`, so that an edge inside an averaged sample shows in the next.
fn levels(pairs: u16, before: u8) -> u8 {
    (0..8).fold(0, |levels, input| {
        let level = match pairs >> (2 * input) & 3 {
            1 => 0,
            2 => 1,
            _ => before >> input & 1,
        };
        levels | level << input
    })
}

/// `metadata.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Metadata {
    metadata: Recording,
    #[serde(rename = "formatVersion")]
    format_version: u32,
    /// What Gleaner adds and the application ignores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gleaner: Option<Addition>,
}

/// When and how fast it was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recording {
    samples_per_second: f64,
    /// Milliseconds of the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_system_time: Option<f64>,
}

/// What the currents were measured at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Addition {
    voltage_v: f64,
}

#[cfg(test)]
mod tests;
