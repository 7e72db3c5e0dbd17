//! Many runs at once: comparisons, sweeps, and the check of the numeric core against vectors.

pub mod compare;
pub mod sweep;
pub mod vectors;
