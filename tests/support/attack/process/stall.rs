//! Boards with a valid key that keep a run waiting: the time of the honest boards' rounds with one of
//! them beside, and without.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use gleaner_sim::run::RunDirectory;
use gleaner_station::event::EventKind;
use gleaner_station::fleet_file::FILE_NAME;
use gleaner_station::log::{EVENTS, Line, each_line};
use tokio::runtime::Runtime;

use super::{Attack, scenario_of};
use crate::client::Stall;
use crate::peers::{Board, fleet_of_run};

/// Every way to keep a run waiting.
pub const ALL: [Attack; 6] = [
    ("a board hangs up at each order", hangs_up),
    ("a board accepts orders and never reports", idle),
    ("a board never answers an order", mute),
    ("a board sends one byte a second", trickle),
    ("a board browns out in training", browns_out),
    ("a board declines each order late", declines_late),
];

/// Settings of the runs: every board has an order in each round.
const SETS: [&str; 9] = [
    "run.rounds=30",
    "run.scheduler=greedy",
    "radio.channels=4",
    "device.deadline_s=1",
    "device.harvest_j=1",
    "partition.mean_samples=60",
    "partition.std_samples=10",
    "data.test_samples=50",
    "run.checkpoint_every=1",
];

/// Training time of an honest board. With its transfers a round takes as long as it should.
const TRAINING: Duration = Duration::from_millis(300);

/// Bits per second of the boards' lines.
const BAUD: u32 = 8_000_000;

/// Limit of a round in seconds; the first two failures cost as much.
const LIMIT_S: f64 = 3.0;

/// Most that one board may cost the others after its third failure.
const MOST: f64 = 0.10;

fn hangs_up(program: &Path, folder: &Path) -> Result<String, String> {
    suffer(Stall::HangsUp, program, folder)
}

fn idle(program: &Path, folder: &Path) -> Result<String, String> {
    suffer(Stall::Idle, program, folder)
}

fn mute(program: &Path, folder: &Path) -> Result<String, String> {
    suffer(Stall::Mute, program, folder)
}

fn trickle(program: &Path, folder: &Path) -> Result<String, String> {
    suffer(Stall::Trickle, program, folder)
}

fn browns_out(program: &Path, folder: &Path) -> Result<String, String> {
    suffer(Stall::BrownsOut, program, folder)
}

fn declines_late(program: &Path, folder: &Path) -> Result<String, String> {
    suffer(Stall::DeclinesLate, program, folder)
}

/// Runs three honest boards twice at the same time: alone, and with one that stalls in the place of a
/// simulated client.
fn suffer(stall: Stall, program: &Path, folder: &Path) -> Result<String, String> {
    let stalling = Board {
        stalls: Some((stall, u32::MAX)),
        ..HONEST
    };
    let (alone, beside) = std::thread::scope(|scope| {
        let alone = scope.spawn(|| run(&[HONEST; 3], program, &folder.join("alone")));
        let boards = [HONEST, HONEST, HONEST, stalling];
        let beside = run(&boards, program, &folder.join("beside"));
        (alone.join(), beside)
    });
    let alone = alone.map_err(|_| "the run of honest boards panicked")??;
    let beside = beside?;
    let third = *(beside.failed)
        .get(2)
        .ok_or("the board failed fewer than three times")?;
    let (alone_s, beside_s) = (alone.mean_after(third), beside.mean_after(third));
    let cost = beside_s / alone_s - 1.0;
    let words = format!(
        "an honest round takes {alone_s:.2} s, {beside_s:.2} s ({:+.1} %) after the third failure in \
         round {third}; the board failed in {} of {} rounds, no honest update was lost",
        100.0 * cost,
        beside.failed.len(),
        beside.closed.len(),
    );
    match (beside.lost, cost <= MOST) {
        (0, true) => Ok(words),
        (0, false) => Err(words),
        (lost, _) => Err(format!("{lost} honest updates were lost")),
    }
}

const HONEST: Board = Board {
    training: TRAINING,
    ..Board::TRUE
};

/// What the event log of a run tells.
#[derive(Default)]
struct Told {
    /// When each round was closed, in seconds.
    closed: BTreeMap<u32, f64>,
    /// Rounds in which client 3 was tried and failed.
    failed: Vec<u32>,
    /// Updates of the other clients that did not arrive.
    lost: u32,
}

impl Told {
    /// Returns the mean duration of the rounds after one.
    fn mean_after(&self, round: u32) -> f64 {
        let last = self.closed.last_key_value().map_or(0, |(round, _)| *round);
        let at = |round| self.closed.get(&round).copied().unwrap_or_default();
        (at(last) - at(round)) / f64::from(last.saturating_sub(round).max(1))
    }
}

/// Runs boards and simulated clients, four in all, with the program, and verifies the run.
fn run(boards: &[Board], program: &Path, folder: &Path) -> Result<Told, String> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    let runtime = Runtime::new().map_err(|error| failed(&error))?;
    let mut fleet = runtime.block_on(fleet_of_run(&scenario_of(4, &SETS)?, boards));
    fleet.clients.iter_mut().for_each(|it| it.baud = BAUD);
    fs::write(folder.join(FILE_NAME), fleet.to_toml()).map_err(|error| failed(&error))?;
    let sets = SETS.iter().flat_map(|set| ["--set", set]);
    let gleaner = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(folder).args(arguments);
        command.stdin(Stdio::null());
        command
    };
    let limit = LIMIT_S.to_string();
    let mut run = gleaner(&["run", "--preset", "paper-mlp", "--plain", "--quiet"]);
    run.args(["--out", "run", "--round-limit-s", &limit])
        .args(sets);
    for mut command in [run, gleaner(&["verify", "run"])] {
        let output = command.output().map_err(|error| failed(&error))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {words}", output.status));
        }
    }
    told(&RunDirectory::new(folder.join("run")))
}

fn told(directory: &RunDirectory) -> Result<Told, String> {
    let mut told = Told::default();
    let lines = each_line(&directory.file(EVENTS)).map_err(|error| error.to_string())?;
    for line in lines {
        let Line::Event { t_s, event } = line.map_err(|error| error.to_string())? else {
            continue;
        };
        let Some(round) = event.round else { continue };
        match event.what {
            EventKind::Closed { .. } => {
                told.closed.insert(round, t_s);
            }
            EventKind::Absent { reason, .. } => match event.client.0 {
                3 if reason.starts_with("sits out") => {}
                3 => told.failed.push(round),
                _ => told.lost += 1,
            },
            _ => {}
        }
    }
    Ok(told)
}
