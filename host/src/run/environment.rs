//! Where and how a run was made: everything that may differ between equal runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The surroundings of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Environment {
    /// Version of the program.
    pub version: String,
    /// Operating system.
    pub system: String,
    /// Processor architecture.
    pub architecture: String,
    /// Whether debug assertions were on.
    pub debug: bool,
    /// Threads that trained.
    pub threads: usize,
    /// Wall time of the rounds of the last session, without loading.
    pub wall_s: f64,
    /// Whether the run was resumed from a checkpoint.
    pub resumed: bool,
    /// Largest resident memory, where the system tells.
    pub peak_memory_mb: Option<f64>,
}

impl Environment {
    /// Describes this process.
    #[must_use]
    pub fn here(threads: usize, wall: Duration, resumed: bool) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            system: std::env::consts::OS.to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
            debug: cfg!(debug_assertions),
            threads,
            wall_s: wall.as_secs_f64(),
            resumed,
            peak_memory_mb: peak_memory_mb(),
        }
    }
}

/// Returns the number of threads meant by `threads`; 0 means one per processor.
#[must_use]
pub fn thread_count(threads: usize) -> usize {
    match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

/// Reads the high-water mark of resident memory from the kernel.
#[must_use]
pub fn peak_memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}
