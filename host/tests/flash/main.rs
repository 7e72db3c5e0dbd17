//! Flashing without a board: files and chips that do not fit, a drive, no probe, a wrong one.

mod command;
mod folder;
#[cfg(feature = "probe")]
mod log;
#[cfg(feature = "probe")]
mod probes;
mod program;
