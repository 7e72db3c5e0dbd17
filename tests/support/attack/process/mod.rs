//! Attacks on the real `gleaner` process.

pub mod inputs;
