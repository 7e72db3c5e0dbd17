//! Flashing without a board: files that do not fit a chip, a drive, missing and wrong probes.

mod command;
mod image;
#[cfg(feature = "probe")]
mod log;
#[cfg(feature = "probe")]
mod probes;
mod program;
#[path = "../command/support.rs"]
#[allow(dead_code, reason = "shared with the tests of the other commands")]
mod support;
