//! Attacks on the real `gleaner` process, one file per topic, and the helper that runs it within bounds.
//!
//! An attack runs the program in a folder of its own and returns what was measured, or what broke.

pub mod directory;
pub mod inputs;
pub mod ledger;
pub mod poison;
pub mod stall;

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gleaner_sim::scenario::{Override, Scenario, resolve};
use gleaner_station::fleet_file::{Entry, FleetFile, Link};
use gleaner_station::setup::overrides;

/// Wall time after which a program counts as one that hangs.
const LIMIT: Duration = Duration::from_secs(60);
/// Memory above which a program counts as flooded.
const MEMORY_MB: u64 = 512;
/// Most bytes that are kept of each output.
const OUTPUT: u64 = 1 << 20;

/// An attack: its name, and what runs it with the program in an empty folder and returns what was
/// measured, or what broke.
pub type Attack = (&'static str, fn(&Path, &Path) -> Result<String, String>);

/// Returns the attacks of all topics.
pub fn all() -> impl Iterator<Item = Attack> {
    let people = directory::ALL.into_iter().chain(inputs::ALL);
    let boards = stall::ALL.into_iter().chain(ledger::ALL);
    people.chain(boards).chain(poison::ALL)
}

/// The end of a process that was run within bounds.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output, up to a megabyte.
    pub stdout: String,
    /// Standard error, up to a megabyte.
    pub stderr: String,
    /// Largest resident memory.
    pub memory_mb: u64,
}

impl Ended {
    /// Requires exit code 1 and an error with these words, without a panic.
    ///
    /// # Errors
    /// Says what the program did instead.
    pub fn refused(&self, words: &[&str]) -> Result<(), String> {
        let missing = words.iter().find(|word| !self.stderr.contains(**word));
        match (self.code, missing, self.stderr.contains("panicked")) {
            (Some(1), None, false) => Ok(()),
            _ => Err(format!("not refused with {words:?}: {self:?}")),
        }
    }

    /// Requires exit code 0.
    ///
    /// # Errors
    /// Says what the program did instead.
    pub fn succeeded(&self) -> Result<(), String> {
        match self.code {
            Some(0) => Ok(()),
            _ => Err(format!("failed: {self:?}")),
        }
    }
}

/// Runs a program in a folder to its end, within a minute and half a gigabyte.
///
/// # Errors
/// The program does not start, hangs, or takes too much memory.
pub fn run<S: AsRef<OsStr>>(program: &Path, folder: &Path, words: &[S]) -> Result<Ended, String> {
    let mut command = Command::new(program);
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = piped.args(words).current_dir(folder).stdin(Stdio::null());
    let mut child = started.spawn().map_err(|error| error.to_string())?;
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let begin = Instant::now();
    let mut memory_mb = 0;
    let status = loop {
        memory_mb = memory_mb.max(peak_mb(&child));
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        let hangs = begin.elapsed() > LIMIT;
        if hangs || memory_mb > MEMORY_MB {
            let _ = child.kill();
            let _ = child.wait();
            return Err(match hangs {
                true => format!("no end after {} s", LIMIT.as_secs()),
                false => format!("{memory_mb} MB of memory, and more to come"),
            });
        }
        thread::sleep(Duration::from_millis(2));
    };
    let text = |thread: Option<thread::JoinHandle<String>>| {
        let joined = thread.and_then(|thread| thread.join().ok());
        joined.unwrap_or_default()
    };
    Ok(Ended {
        code: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
        memory_mb,
    })
}

/// Resolves `paper-mlp` with settings, for a fleet of so many clients.
fn scenario_of(clients: u32, sets: &[&str]) -> Result<Scenario, String> {
    let entry = |id| Entry::new(format!("client-{id}"), id, Link::Simulated);
    let fleet = FleetFile {
        clients: (0..clients).map(entry).collect(),
        ..FleetFile::default()
    };
    let sets = sets.iter().map(|set| set.parse());
    let sets: Result<Vec<Override>, _> = sets.collect();
    let mut sets = sets.map_err(|error| error.to_string())?;
    sets.extend(overrides(&fleet));
    resolve("paper-mlp", &sets).map_err(|error| error.to_string())
}

/// Keeps the beginning of an output and reads the rest.
fn collect(pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let (mut pipe, mut kept) = (pipe, Vec::new());
        // A pipe that breaks has ended.
        let _ = pipe.by_ref().take(OUTPUT).read_to_end(&mut kept);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        String::from_utf8_lossy(&kept).into_owned()
    })
}

/// Returns the largest resident memory of a process; 0 where the system does not tell.
fn peak_mb(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}
