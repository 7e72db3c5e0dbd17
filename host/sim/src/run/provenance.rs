//! Provenance of a run: facts that may differ between runs with equal results.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use gleaner_files::{FileError, hexadecimal, read_text, sha256_of, write_atomically};
use serde::{Deserialize, Serialize};

use super::directory::RunDirectory;
use crate::policy::Decider;
use crate::round::Engine;

/// Machine, program and times of a run; the content of `environment.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of the program.
    pub version: String,
    /// Name of the operating system.
    pub system: String,
    /// Architecture of the processor.
    pub architecture: String,
    /// Whether debug assertions were on.
    pub debug: bool,
    /// Number of training threads.
    pub threads: usize,
    /// Wall time of the rounds of the last session, without loading.
    pub wall_s: f64,
    /// Processor time of the rounds of all sessions; missing if a session was killed or shared its
    /// process with other runs, or the system does not tell.
    #[serde(default)]
    pub processor_s: Option<f64>,
    /// Whether the run was resumed from a checkpoint.
    pub resumed: bool,
    /// Largest resident memory, where the system tells.
    pub peak_memory_mb: Option<f64>,
    /// The program that scheduled, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Program>,
}

/// A program that schedules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The command line of the program.
    pub command: String,
    /// Name of the scheduler, by its own word or after its command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whether it had updates divided by their epochs.
    #[serde(default)]
    pub nova: bool,
    /// Digests of the words of the command line that are files, as they were when the last session
    /// began.
    pub files: Vec<ProgramFile>,
}

/// A file of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFile {
    /// Its path as the command line has it.
    pub path: String,
    /// SHA-256 digest of the file.
    pub sha256: String,
}

impl Program {
    /// Describes the program of a scenario that has one.
    pub(super) fn of(decider: &Decider) -> Option<Self> {
        let Decider::Process(command) = decider else {
            return None;
        };
        let program = [command.program().to_owned()];
        let words = program.iter().chain(command.arguments());
        let files = words.filter_map(|path| {
            let found = Path::new(path).is_file().then(|| File::open(path))?;
            Some(ProgramFile {
                path: path.clone(),
                sha256: hexadecimal(&found.and_then(sha256_of).ok()?),
            })
        });
        Some(Self {
            command: command.to_string(),
            files: files.collect(),
            name: String::new(),
            nova: false,
        })
    }

    /// Adds what the program said of itself in a run.
    pub(super) fn of_run(self, engine: &Engine<'_>) -> Self {
        Self {
            name: engine.scheduler(),
            nova: engine.wants_nova(),
            ..self
        }
    }
}

impl Provenance {
    /// Reads what the last session of a run wrote.
    pub(super) fn read(directory: &RunDirectory) -> Option<Self> {
        let text = read_text(&directory.file(RunDirectory::ENVIRONMENT)).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(super) fn write(&self, directory: &RunDirectory) -> Result<(), FileError> {
        let json = serde_json::to_string_pretty(self).unwrap_or_default();
        let path = directory.file(RunDirectory::ENVIRONMENT);
        write_atomically(&path, format!("{json}\n").as_bytes())
    }

    /// Describes this process and machine.
    #[must_use]
    pub fn here(threads: usize, wall: Duration, resumed: bool) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            system: std::env::consts::OS.to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
            debug: cfg!(debug_assertions),
            threads,
            wall_s: wall.as_secs_f64(),
            processor_s: None,
            resumed,
            peak_memory_mb: peak_memory_mb(),
            scheduler: None,
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
