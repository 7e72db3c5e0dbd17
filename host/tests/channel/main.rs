//! Channels from a trace: what a run recorded gives the same run again, and a trace that does not
//! fit is refused before there is a run.

mod interruption;
mod refusal;
mod replay;
mod study;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("gleaner-channel-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.join(name)).unwrap()
    }

    fn gleaner(&self, command: &str, more: &[&str]) -> Command {
        let mut gleaner = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        gleaner.current_dir(&self.0).arg(command).args(more);
        gleaner
    }

    /// Simulates a few rounds of small clients.
    fn simulate(&self, out: &str, more: &[&str]) -> Command {
        let mut gleaner = self.gleaner("simulate", &SMALL);
        gleaner.args(["--out", out, "--quiet"]).args(more);
        gleaner
    }

    /// Leaves `gains.csv` behind, with the gains of such a run.
    fn record(&self, more: &[&str]) -> String {
        let mut recorded = self.simulate("drawn", &["--record-channel", "gains.csv"]);
        succeed(recorded.args(more));
        self.read("gains.csv")
    }

    /// Returns the digests of logs and model: those of the scenario and its trace name the cause,
    /// not the result.
    fn results(&self, run: &str) -> String {
        let sums = self.read(&format!("{run}/SHA256SUMS"));
        let results = sums
            .lines()
            .filter(|line| !line.ends_with("scenario.toml") && !line.ends_with("channel.csv"));
        let results: Vec<&str> = results.collect();
        assert_eq!(results.len(), 3, "{sums}");
        results.join("\n")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SMALL: [&str; 10] = [
    "--rounds",
    "5",
    "--set",
    "partition.mean_samples=60",
    "--set",
    "partition.std_samples=10",
    "--set",
    "data.test_samples=50",
    "--threads",
    "1",
];

/// Estimates from uploads need an introduction, and that the gains of round 0.
const FIXED: [&str; 4] = [
    "--set",
    "clients.kind=fixed-point",
    "--set",
    "cre.estimates=uplink",
];

const TRACED: [&str; 2] = ["--set", "channel.trace=gains.csv"];

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    output
}

fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
