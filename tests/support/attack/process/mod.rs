//! Attacks on the real `gleaner` process.

pub mod stall;
pub mod poison;
