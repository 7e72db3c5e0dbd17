//! The paper's mathematics.
#![forbid(unsafe_code)]

pub mod bound;
pub mod channel;
pub mod estimate;
pub mod json;
pub mod optim;
pub mod system;
pub mod units;
