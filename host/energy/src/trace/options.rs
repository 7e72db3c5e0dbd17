//! How a trace is to be read.

use std::path::PathBuf;

use super::columns::Columns;

/// What a file cannot say of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// What the board was supplied with.
    pub voltage_v: Option<f64>,
    /// Samples a second, of a table without time.
    pub rate_hz: Option<f64>,
    /// The columns of a table that is none of a known meter's.
    pub columns: Option<Columns>,
    /// The kind of file, where its content does not tell.
    pub format: Option<Format>,
    /// What a PPK2 says of itself, for the bytes of its serial line.
    pub calibration: Option<PathBuf>,
    /// Whether currents are believed that no board draws and no meter resolves.
    pub trust_units: bool,
}

/// Kinds of files whose content does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The bytes of a PPK2's serial line.
    Ppk2Raw,
}
