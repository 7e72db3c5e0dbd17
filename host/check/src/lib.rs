//! Checks of the numeric core: the code against test vectors ([`vectors`]), rounds recorded in files
//! ([`instances`]), and the time that schedulers take to decide ([`time_decisions`]).

#![forbid(unsafe_code)]

mod decisions;
pub mod instances;
pub mod json;
pub mod vectors;

pub use decisions::{Decisions, time_decisions};
