//! Poisoned updates: the accuracy of a run with a hostile client, against the same run without.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use gleaner_sim::scenario::{Override, Scenario, resolve};
use gleaner_station::fleet_file::{Entry, FILE_NAME, FleetFile, Link};
use gleaner_station::setup::overrides;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::Attack;
use crate::peers::{Board, fleet_of_run};

/// Every way to poison a run.
pub const ALL: [Attack; 3] = [
    (
        "a board with a key sends updates 100 times as long",
        long_updates,
    ),
    (
        "a simulated client scales its updates by 100",
        scaled_updates,
    ),
    (
        "a simulated client turns its updates round, under fltrust",
        turned_updates,
    ),
];

/// Settings of the runs: seven clients, all of them in each round.
const SETS: [&str; 9] = [
    "run.rounds=15",
    "run.evaluate_every=15",
    "run.scheduler=random",
    "radio.channels=7",
    "device.deadline_s=1",
    "device.cycles_per_sample=1e6",
    "learning.learning_rate=0.2",
    "partition.mean_samples=100",
    "partition.std_samples=10",
];

/// Scale of a false update, which moves each of 39,760 parameters by 0.1: about 100 times as far as an
/// honest one.
const LIE: u32 = 3_300;

/// Points of accuracy that an attack may cost.
const MOST: f64 = 5.0;

/// A run with boards: the first of seven clients lies or changes nothing, and six are simulated.
fn long_updates(program: &Path, folder: &Path) -> Result<String, String> {
    let liar = Board {
        lies: Some(LIE),
        ..Board::TRUE
    };
    let honest = with_board(Board::TRUE, "auto", program, &folder.join("honest"))?;
    let bounded = with_board(liar, "", program, &folder.join("bounded"))?;
    let unbounded = with_board(liar, "off", program, &folder.join("unbounded"))?;
    judge(honest, bounded, unbounded)
}

fn scaled_updates(program: &Path, folder: &Path) -> Result<String, String> {
    let attack = "--set hostile.clients=1 --set hostile.attack=scale --set hostile.factor=100";
    let bound = "--set aggregation.norm_bound=auto";
    let run = |name: &str, sets: &str| simulated(program, &folder.join(name), sets);
    let honest = run("honest", bound)?;
    let bounded = run("bounded", &format!("{attack} {bound}"))?;
    judge(honest, bounded, run("unbounded", attack)?)
}

fn turned_updates(program: &Path, folder: &Path) -> Result<String, String> {
    let attack = "--set hostile.clients=3 --set hostile.attack=flip --set hostile.factor=7";
    let rule = "--set aggregation.rule=fltrust";
    let run = |name: &str, sets: &str| simulated(program, &folder.join(name), sets);
    let honest = run("honest", rule)?;
    let trusted = run("trusted", &format!("{attack} {rule}"))?;
    judge(honest, trusted, run("mean", attack)?)
}

/// Compares final accuracies in percent: honest, under attack with the defence, and without.
fn judge(honest: f64, defended: f64, open: f64) -> Result<String, String> {
    let words =
        format!("{honest:.1} % without attack, {defended:.1} % under it; {open:.1} % undefended");
    match defended >= honest - MOST && open < defended {
        true => Ok(words),
        false => Err(words),
    }
}

/// Returns the final accuracy of `gleaner run` with one board, and verifies the run; an empty bound is
/// the default.
fn with_board(board: Board, bound: &str, program: &Path, folder: &Path) -> Result<f64, String> {
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let fleet = runtime.block_on(fleet_of_run(&scenario()?, &[board]));
    fs::write(folder.join(FILE_NAME), fleet.to_toml()).map_err(|error| error.to_string())?;
    let mut run = "run --preset paper-mlp --plain --quiet --out run".to_owned();
    SETS.iter().for_each(|set| run += &format!(" --set {set}"));
    if !bound.is_empty() {
        run += &format!(" --set aggregation.norm_bound={bound}");
    }
    gleaner(program, folder, &run)?;
    gleaner(program, folder, "verify run")?;
    accuracy(program, folder)
}

/// Returns the final accuracy of `gleaner simulate`.
fn simulated(program: &Path, folder: &Path, sets: &str) -> Result<f64, String> {
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let mut run = "simulate --preset paper-mlp --quiet --out run".to_owned();
    SETS.iter().for_each(|set| run += &format!(" --set {set}"));
    run += &format!(" --set clients.count=7 --set data.validation_samples=100 {sets}");
    gleaner(program, folder, &run)?;
    accuracy(program, folder)
}

fn gleaner(program: &Path, folder: &Path, arguments: &str) -> Result<Vec<u8>, String> {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    let output = command.args(arguments.split_whitespace()).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(format!("{arguments}: {}: {words}", output.status))
}

/// Reads the accuracy of the last round, in percent.
fn accuracy(program: &Path, folder: &Path) -> Result<f64, String> {
    let report = gleaner(program, folder, "report --json run")?;
    let report: Value = serde_json::from_slice(&report).map_err(|error| error.to_string())?;
    let share = report["summary"]["final_accuracy"].as_f64();
    share
        .map(|share| 100.0 * share)
        .ok_or_else(|| "the report has no accuracy".to_owned())
}

fn scenario() -> Result<Scenario, String> {
    let entry = |id| Entry::new(format!("client-{id}"), id, Link::Simulated);
    let fleet = FleetFile {
        clients: (0..7).map(entry).collect(),
        ..FleetFile::default()
    };
    let sets = SETS.iter().map(|set| set.parse());
    let sets: Result<Vec<Override>, _> = sets.collect();
    let mut sets = sets.map_err(|_| "a setting cannot be read")?;
    sets.extend(overrides(&fleet));
    resolve("paper-mlp", &sets).map_err(|error| error.to_string())
}
