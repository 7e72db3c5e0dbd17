//! Sweeps: a grid of keys and seeds, every point a run named by the hash of its scenario.
//!
//! A point's directory depends on nothing but its resolved scenario, so a sweep can be stopped,
//! widened and started again: what is there is not made twice.

mod best;
mod file;
mod table;

pub use best::{Best, NoChoice, Spread, choose};
pub use file::{Sweep, SweepError};
pub use table::csv;
