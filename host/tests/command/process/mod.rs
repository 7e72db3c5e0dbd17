//! Programs that schedule: the examples of `docs/examples/schedulers` with their interpreters, and
//! programs that fail or break the protocol.
//!
//! Under `CI=true` a missing interpreter is a failure; elsewhere the test is skipped.

mod examples;
mod faults;
mod resumed;
mod schema;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gleaner_sim::fleet;
use gleaner_sim::round::{Engine, EngineError, State, environment};
use gleaner_sim::scenario::{Override, resolve};

use crate::support::{Folder, SMALL, skip};

/// An SX1262 in rounds that are long enough for it and for a few epochs.
const GFSK: [&str; 6] = [
    "radio.rate=gfsk",
    "radio.max_power_dbm=14",
    "channel.antenna_gain_db=0",
    "channel.carrier_ghz=0.868",
    "device.deadline_s=4",
    "device.cycles_per_sample=2.5e6",
];

/// Answers the hello and counts requests in `n`; every request is in `$l`.
const GREET: &str = "IFS= read -r l; echo '{\"version\":2}'; n=0\n";

/// Shell line that answers a request with no order.
const REST: &str = "echo \"{\\\"round\\\":$n,\\\"orders\\\":[]}\"";

/// Returns a script of `sh` that greets and then runs `body` for every request.
fn each(body: &str) -> String {
    format!("{GREET}while IFS= read -r l; do n=$((n+1))\n{body}\ndone\n")
}

/// A folder with a script, which runs in that folder.
struct Script(Folder);

impl Script {
    fn new(text: &str) -> Self {
        let script = Self(Folder::new());
        script.write(text);
        script
    }

    fn write(&self, text: &str) {
        let text = format!("cd \"$(dirname \"$0\")\"\n{text}");
        self.0.write("script.sh", text);
    }

    fn scheduler(&self) -> String {
        format!("process:sh '{}'", self.0.path("script.sh").display())
    }
}

/// Result of a run without files.
struct Ended {
    rounds: u32,
    error: String,
    said: Vec<String>,
    scheduler: String,
    state: State,
}

impl Ended {
    fn assert_complete(&self) {
        assert_eq!((self.error.as_str(), self.rounds), ("", 6));
    }
}

/// Runs six rounds under a scheduler, or as many as it takes to fail.
fn run(scheduler: &str, more: &[&str]) -> Ended {
    run_then(scheduler, more, |_| {})
}

/// Runs like [`run`] and calls `last` before the engine is dropped.
fn run_then(scheduler: &str, more: &[&str], last: impl FnOnce(&Engine<'_>)) -> Ended {
    let mut sets = vec![
        Override::new("run.scheduler", scheduler),
        Override::new("run.rounds", 6),
    ];
    let words = SMALL.split_whitespace().filter(|it| *it != "--set");
    sets.extend(
        words
            .chain(more.iter().copied())
            .map(|set| set.parse::<Override>().unwrap()),
    );
    let scenario = resolve("paper-mlp", &sets).unwrap();
    let data = fleet::load_data(&scenario).unwrap();
    let mut clients = fleet::build(&scenario, &data, 1).unwrap();
    let (fleet, examiner) = (&mut *clients.fleet, &*clients.examiner);
    let environment = environment::of(&scenario).unwrap();
    let mut engine = Engine::new(&scenario, fleet, examiner, environment, clients.model);
    let (mut error, mut said) = (String::new(), Vec::new());
    while !engine.is_finished() && error.is_empty() {
        let step = engine.step();
        said.extend(engine.take_warnings());
        match step {
            Ok(_) => {}
            Err(failed @ EngineError::Scheduler { .. }) => error = failed.to_string(),
            Err(other) => panic!("{other}"),
        }
    }
    last(&engine);
    Ended {
        rounds: engine.state().round(),
        error,
        said,
        scheduler: engine.scheduler(),
        state: engine.state().clone(),
    }
}

/// Makes a command of `gleaner` with a scheduler, whose text may contain blanks.
fn scheduled(folder: &Folder, scheduler: &str, words: &str) -> Command {
    let mut command = folder.gleaner(words);
    command.args(SMALL.split_whitespace());
    command.args(["--scheduler", scheduler]);
    command
}

fn examples() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/schedulers");
    folder.canonicalize().unwrap()
}

/// Returns an example as scheduler, or `None` if its interpreter is not installed.
fn example(interpreter: &str, file: &str) -> Option<String> {
    let version = Command::new(interpreter).arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        skip(format!("{interpreter} is missing"));
        return None;
    }
    let path = examples().join(file);
    assert!(path.is_file(), "{}", path.display());
    Some(format!("process:{interpreter} '{}'", path.display()))
}

/// Tells whether a process exists, zombies included.
fn is_alive(pid: &str) -> bool {
    let mut signal = Command::new("sh");
    signal.args(["-c", "kill -0 \"$1\" 2>/dev/null", "sh", pid]);
    signal.status().unwrap().success()
}

fn read_trimmed(path: &Path) -> String {
    fs::read_to_string(path).unwrap().trim().to_owned()
}
