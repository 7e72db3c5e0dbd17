//! Boards as hardware: what is known of each, what goes into its flash and how, and its emulator.
//!
//! [`board`] is the table everything else reads, [`row`] what it says of each. [`image`] finds and
//! builds a board's programs and [`shard`] makes the samples it carries; [`flash`] writes both, through a drive or, with the
//! feature `probe`, a debug probe, which also reads the board's log. [`emulator`] starts boards
//! that nobody has. This room knows nothing of scenarios, rounds and fleets.

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
