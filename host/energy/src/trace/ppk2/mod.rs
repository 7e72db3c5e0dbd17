//! Recordings of Nordic's Power Profiler Kit II (PPK2).
//!
//! An archive (`.ppk2`) is a ZIP of `session.raw`, six bytes a sample, `metadata.json` and
//! `minimap.raw`, the overview that the application draws. The format is that of the application's
//! version 4, read from its source (`pc-nrfconnect-ppk`): `addData` and `getBitData` in
//! `src/globals.ts`, `src/utils/saveFileHandler.ts`, `loadFileHandler.ts`, `foldingBuffer.ts` and
//! `bitConversion.ts`, and for lost samples `src/actions/deviceActions.ts`.

mod archive;
mod calibration;
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

/// Current that the application stores for a lost sample.
const LOST_UA: f32 = 0.2;

/// The low bit of every pair, set if the input was low. A lost sample has all of them.
const ALL_LOW: u16 = 0x5555;

/// Resolution of the meter; the application stores smaller currents as zero.
const LEAST_UA: f64 = 0.2;

/// Names of the archive's entries.
const SESSION: &str = "session.raw";
const METADATA: &str = "metadata.json";
const MINIMAP: &str = "minimap.raw";

/// Version of the archive's format.
const FORMAT: u32 = 2;

/// Returns a current in microamperes as the application stores it, never as a lost sample.
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

/// Returns whether a stored sample is lost.
fn is_lost(current_ua: f32, pairs: u16) -> bool {
    (current_ua.to_bits() == LOST_UA.to_bits() && pairs & ALL_LOW == ALL_LOW) || current_ua.is_nan()
}

/// Converts levels to pairs of bits: 01 for low, 10 for high.
const fn pairs(levels: u8) -> u16 {
    let mut spread = 0;
    let mut input = 0;
    while input < 8 {
        spread |= if levels >> input & 1 == 1 { 2 } else { 1 } << (2 * input);
        input += 1;
    }
    spread
}

/// Converts pairs of bits to levels. An input that was both (11) or unknown (00) keeps its level of
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Metadata {
    metadata: Recording,
    #[serde(rename = "formatVersion")]
    format_version: u32,
    /// Addition of Gleaner, which the application ignores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gleaner: Option<Addition>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recording {
    samples_per_second: f64,
    /// Milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_system_time: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Addition {
    voltage_v: f64,
}

#[cfg(test)]
mod tests;
