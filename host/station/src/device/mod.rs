//! Boards as hardware: their properties, programs, flash and emulators.
//!
//! [`board`] is the table of boards and [`row`] the type of its rows. [`image`] finds and builds a
//! board's programs, and [`shard`] builds the image of its samples; [`flash`] writes both, through a
//! drive or, with the feature `probe`, a debug probe, which also reads the board's log. [`emulator`]
//! starts emulated boards. This module does not depend on scenarios, rounds and fleets.

pub mod board;
pub mod emulator;
mod error;
pub mod flash;
pub mod image;
#[cfg(feature = "probe")]
pub mod logs;
#[cfg(feature = "probe")]
pub mod probe;
pub mod row;
pub mod shard;

pub use board::Board;
