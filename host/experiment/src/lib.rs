//! Studies: many runs at once ([`run_all`]), schedulers compared ([`compare`]), raced ([`track`]) and
//! timed ([`time_decisions`]), grids of keys and seeds ([`sweep`]), lists of points for workers on any
//! machine ([`batch`]), the paper made again ([`reproduce`]), a week on harvested energy ([`week`]);
//! rounds from files ([`instances`]), and the check of the numeric core against vectors ([`vectors`]).

pub mod batch;
pub mod compare;
mod pool;
pub mod reproduce;
pub mod sweep;
pub mod track;
pub mod week;

pub use pool::{PlannedRun, PlannedRunError, run_all, run_bare};
