//! Attacks on the real `gleaner` process.

pub mod poison;
pub mod stall;
pub mod ledger;
