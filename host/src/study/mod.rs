//! Many runs at once: comparisons, sweeps; rounds from files; and the check of the numeric core
//! against vectors.

pub mod compare;
pub mod instances;
pub mod json;
pub mod sweep;
pub mod vectors;
