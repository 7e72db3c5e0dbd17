//! What the tests of programs have in common: scripts, engines that ask them, and runs of `gleaner`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gleaner_sim::fleet;
use gleaner_sim::round::{Engine, EngineError, State, environment};
use gleaner_sim::scenario::{Override, resolve};
use tempfile::TempDir;

/// Few samples and few test images: what is tested is who decides.
const SMALL: [&str; 3] = [
    "partition.mean_samples=60",
    "partition.std_samples=10",
    "data.test_samples=50",
];

/// Answers the hello and counts requests in `n`; every request is in `$l`.
pub const GREET: &str = "IFS= read -r l; echo '{\"version\":1}'; n=0\n";

/// A script of `sh` that greets and then does the same with every request.
pub fn each(body: &str) -> String {
    format!("{GREET}while IFS= read -r l; do n=$((n+1))\n{body}\ndone\n")
}

/// A folder with a script in it.
pub struct Script {
    folder: TempDir,
}

impl Script {
    pub fn new(text: &str) -> Self {
        let script = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        script.write(text);
        script
    }

    pub fn write(&self, text: &str) {
        fs::write(self.path(), text).unwrap();
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("script.sh")
    }

    /// Another file in its folder.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn decider(&self) -> String {
        format!("process:sh '{}'", self.path().display())
    }
}

/// What became of a run without files.
pub struct Ended {
    pub rounds: u32,
    pub error: String,
    pub said: Vec<String>,
    pub scheduler: String,
    pub state: State,
}

/// Runs six rounds under a scheduler, or as many as it takes to fail.
pub fn run(decider: &str, more: &[&str]) -> Ended {
    run_then(decider, more, |_| {})
}

/// The same, and `last` sees the engine before it is gone.
pub fn run_then(decider: &str, more: &[&str], last: impl FnOnce(&Engine<'_>)) -> Ended {
    let mut sets = vec![
        Override::new("run.scheduler", decider),
        Override::new("run.rounds", 6),
    ];
    let words = SMALL.iter().chain(more);
    sets.extend(words.map(|set| set.parse::<Override>().unwrap()));
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

/// `gleaner` with a subcommand, in a folder.
pub fn gleaner(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
    command.current_dir(folder).args(words);
    command
}

/// `gleaner simulate` on few samples.
pub fn simulate(folder: &Path, out: &str, decider: &str, more: &[&str]) -> Command {
    let mut command = gleaner(folder, &["simulate", "--threads", "1", "--out", out]);
    command.args(["--scheduler", decider]).args(more);
    command.args(SMALL.iter().flat_map(|set| ["--set", set]));
    command
}

pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    output
}

/// Runs what must fail and returns what it says.
pub fn fail(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

/// The digests of a complete run, without that of its scenario, which names its scheduler.
pub fn digests(run: &Path) -> String {
    let sums = fs::read_to_string(run.join("SHA256SUMS")).unwrap();
    sums.split_inclusive('\n')
        .filter(|line| !line.contains("scenario.toml"))
        .collect()
}

/// Where the examples are.
pub fn examples() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/schedulers");
    folder.canonicalize().unwrap()
}

/// The decider of an example, or `None` where its interpreter is missing and may be.
pub fn example(interpreter: &str, file: &str) -> Option<String> {
    let there = Command::new(interpreter).arg("--version").output();
    if there.is_ok_and(|output| output.status.success()) {
        let path = examples().join(file);
        assert!(path.is_file(), "{}", path.display());
        return Some(format!("process:{interpreter} '{}'", path.display()));
    }
    let strict = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
    assert!(!strict, "{interpreter} is missing");
    eprintln!("\n*** SKIPPED: no {interpreter} for {file} ***\n");
    None
}

/// Whether a process is there; a zombie is.
pub fn is_alive(pid: &str) -> bool {
    let signal = Command::new("sh")
        .args(["-c", "kill -0 \"$1\" 2>/dev/null", "sh", pid])
        .status();
    signal.unwrap().success()
}
