//! Gleaner's base station: rounds, schedulers, boards and their runs.
#![forbid(unsafe_code)]

pub mod device;
pub mod fleet;
pub mod policy;
pub mod report;
pub mod round;
pub mod run;
pub mod scenario;
pub mod station;
pub mod study;
