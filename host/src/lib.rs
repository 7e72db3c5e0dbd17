//! Gleaner's base station: channel emulation, the CRE optimiser, aggregation and simulation.
#![deny(unsafe_code)]

pub mod bound;
pub mod channel;
pub mod cli;
pub mod data;
pub mod emulator;
pub mod estimate;
pub mod json;
pub mod link;
pub mod optim;
pub mod partition;
pub mod preset;
pub mod reference;
pub mod scenario;
pub mod shard;
pub mod station;
pub mod train;
pub mod units;
pub mod vectors;
