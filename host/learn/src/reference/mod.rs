//! Plain double-precision implementations to hold fast ones against: written to be read.

pub mod mlp;
