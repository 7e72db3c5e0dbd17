//! The same grid on a real Slurm and a real HyperQueue, with workers killed in the middle: the table is
//! the local one, byte for byte.
//!
//! Without an engine its test is skipped, and said to be; under `CI=true` that is a failure.
//! `cargo xtask test --engines` installs both.
#![cfg(target_os = "linux")]

mod hyperqueue;
mod lab;
mod simulated;
mod slurm;
