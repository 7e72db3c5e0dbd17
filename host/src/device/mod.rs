//! Boards as hardware: their images, shards, flash, probes and emulators.

pub mod emulator;
pub mod firmware;
pub mod flash;
#[cfg(feature = "probe")]
pub mod logs;
#[cfg(feature = "probe")]
pub mod probe;
pub mod shard;
