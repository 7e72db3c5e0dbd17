//! Gleaner's base station: channel emulation, the CRE optimiser, aggregation and simulation.
#![deny(unsafe_code)]

pub mod aggregate;
pub mod bench;
pub mod bound;
pub mod channel;
pub mod cli;
pub mod compare;
pub mod data;
pub mod doctor;
pub mod emulator;
pub mod engine;
pub mod estimate;
pub mod firmware;
pub mod flash;
pub mod json;
pub mod link;
#[cfg(feature = "probe")]
pub mod logs;
pub mod optim;
pub mod partition;
pub mod policy;
pub mod preset;
#[cfg(feature = "probe")]
pub mod probe;
pub mod reference;
pub mod report;
pub mod run;
pub mod scenario;
pub mod shard;
pub mod station;
pub mod sweep;
pub mod train;
pub mod units;
pub mod vectors;
pub mod view;
pub mod world;
