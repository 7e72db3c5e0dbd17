//! Studies: many runs at once ([`run_all`]), schedulers compared ([`compare`]) and
//! raced ([`track`]), grids of keys and
//! seeds ([`sweep`]); rounds from files ([`instances`]), and the check of the numeric core against
//! vectors ([`vectors`]).

pub mod compare;
pub mod instances;
pub mod json;
mod pool;
pub mod sweep;
pub mod track;
pub mod vectors;

pub use pool::{PlannedRun, PlannedRunError, run_all, run_bare};
