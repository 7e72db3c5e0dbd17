//! Gleaner's base station: channel emulation, the CRE optimiser, aggregation and simulation.
#![deny(unsafe_code)]

pub mod cli;
pub mod data;
pub mod emulator;
pub mod partition;
pub mod scenario;
pub mod train;
