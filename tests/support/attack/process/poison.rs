//! Poisoned updates: the accuracy of a run with a hostile client, against the same run without.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use gleaner_station::fleet_file::FILE_NAME;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{Attack, scenario_of};
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
        "two of seven clients turn their updates round, under fltrust",
        turned_updates,
    ),
];

/// Settings of the runs: seven clients, all of them in each round.
const SETS: [&str; 10] = [
    "run.rounds=15",
    "run.evaluate_every=15",
    "run.scheduler=random",
    "radio.channels=7",
    "device.deadline_s=1",
    "device.cycles_per_sample=1e6",
    "learning.learning_rate=0.2",
    "partition.mean_samples=100",
    "partition.std_samples=10",
    "data.validation_samples=100",
];

/// Turns the norm bound of `gleaner run` off.
const OFF: &str = "--set aggregation.norm_bound=off";

/// Scale of a false update, which moves each of 39,760 parameters by 0.1: about 100 times as far as an
/// honest one.
const LIE: u32 = 3_300;

/// Points of accuracy that an attack may cost.
const MOST: f64 = 5.0;

/// Rounds, in each of which every client sends an update.
const ROUNDS: u64 = 15;

/// The end of a run.
struct Ended {
    /// Test accuracy after the last round, in percent.
    accuracy: f64,
    /// The report's counts of anomalies, by client.
    anomalies: Value,
}

impl Ended {
    /// Returns the number of a client's anomalies.
    fn named(&self, client: usize) -> u64 {
        let count = &self.anomalies[client.to_string()];
        count.as_u64().unwrap_or(0)
    }
}

/// A run with boards: the first of seven clients lies or changes nothing, and six are simulated.
fn long_updates(program: &Path, folder: &Path) -> Result<String, String> {
    let liar = Board {
        lies: Some(LIE),
        ..Board::TRUE
    };
    let honest = with_board(Board::TRUE, "", program, &folder.join("honest"))?;
    let bounded = with_board(liar, "", program, &folder.join("bounded"))?;
    let unbounded = with_board(liar, OFF, program, &folder.join("unbounded"))?;
    judge(&honest, &bounded, &unbounded, &[0])
}

fn scaled_updates(program: &Path, folder: &Path) -> Result<String, String> {
    let attack = "--set hostile.clients=1 --set hostile.attack=scale --set hostile.factor=100";
    let bound = "--set aggregation.norm_bound=auto";
    let run = |name: &str, sets: &str| simulated(program, &folder.join(name), sets);
    let honest = run("honest", bound)?;
    let bounded = run("bounded", &format!("{attack} {bound}"))?;
    judge(&honest, &bounded, &run("unbounded", attack)?, &[6])
}

/// A run with boards: the first of seven clients is an honest board, and the last two are simulated
/// and hostile. Their updates are too short for the norm bound, which is on in all runs.
fn turned_updates(program: &Path, folder: &Path) -> Result<String, String> {
    let attack = "--set hostile.clients=2 --set hostile.attack=flip --set hostile.factor=7";
    let rule = "--set aggregation.rule=fltrust";
    let run = |name: &str, sets: &str| with_board(Board::TRUE, sets, program, &folder.join(name));
    let honest = run("honest", rule)?;
    let trusted = run("trusted", &format!("{attack} {rule}"))?;
    judge(&honest, &trusted, &run("mean", attack)?, &[5, 6])
}

/// Compares the ends of runs: honest, under attack with the defence, and without. The defence names
/// hostile clients at least once a round, and honest ones far less often.
fn judge(
    honest: &Ended,
    defended: &Ended,
    open: &Ended,
    hostile: &[usize],
) -> Result<String, String> {
    let least = hostile.iter().map(|&client| defended.named(client)).min();
    let others = (0..7).filter(|client| !hostile.contains(client));
    let most = others.map(|client| defended.named(client)).max();
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
    let [before, under, without] = [honest, defended, open].map(|it| it.accuracy);
    let words = format!(
        "{before:.1} % without attack, {under:.1} % under it; {without:.1} % undefended; at least \
         {least} anomalies of a hostile client in {ROUNDS} rounds, at most {most} of an honest one"
    );
    let holds = under >= before - MOST && without < under - MOST;
    match holds && least >= ROUNDS && most <= ROUNDS / 3 {
        true => Ok(words),
        false => Err(words),
    }
}

/// Returns the end of `gleaner run` with one board under its defaults and `sets`, and verifies the run.
fn with_board(board: Board, sets: &str, program: &Path, folder: &Path) -> Result<Ended, String> {
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let fleet = runtime.block_on(fleet_of_run(&scenario_of(7, &SETS)?, &[board]));
    fs::write(folder.join(FILE_NAME), fleet.to_toml()).map_err(|error| error.to_string())?;
    let mut run = "run --preset paper-mlp --plain --quiet --out run".to_owned();
    SETS.iter().for_each(|set| run += &format!(" --set {set}"));
    gleaner(program, folder, &format!("{run} {sets}"))?;
    gleaner(program, folder, "verify run")?;
    ended(program, folder)
}

/// Returns the end of `gleaner simulate`.
fn simulated(program: &Path, folder: &Path, sets: &str) -> Result<Ended, String> {
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let mut run = "simulate --preset paper-mlp --quiet --out run".to_owned();
    SETS.iter().for_each(|set| run += &format!(" --set {set}"));
    run += &format!(" --set clients.count=7 {sets}");
    gleaner(program, folder, &run)?;
    ended(program, folder)
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

/// Reads the end of a run from its report.
fn ended(program: &Path, folder: &Path) -> Result<Ended, String> {
    let report = gleaner(program, folder, "report --json run")?;
    let mut report: Value = serde_json::from_slice(&report).map_err(|error| error.to_string())?;
    let summary = &mut report["summary"];
    let share = summary["final_accuracy"].as_f64();
    Ok(Ended {
        accuracy: 100.0 * share.ok_or("the report has no accuracy")?,
        anomalies: summary["anomalies"].take(),
    })
}
