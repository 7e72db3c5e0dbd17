//! Boards with a valid key that send false ledgers: what a run books for them, and what it says.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use gleaner_sim::run::RunDirectory;
use gleaner_station::event::EventKind;
use gleaner_station::fleet_file::FILE_NAME;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{Attack, scenario_of};
use crate::lies::Lie;
use crate::peers::{Board, fleet_of_run};
use crate::runs::events;

/// Every attack with false ledgers.
pub const ALL: [Attack; 2] = [
    ("boards send false ledgers of every kind", every_lie),
    ("a board says that it spends nothing", nothing_spent),
];

/// Settings of the runs: every board has an order in each round, and all prices count.
const SETS: [&str; 12] = [
    "run.seed=3",
    "run.scheduler=random",
    "partition.mean_samples=40",
    "partition.std_samples=5",
    "data.test_samples=50",
    "device.receive_w=0.05",
    "device.circuit_w=0.005",
    "device.idle_w=0.002",
    "device.sleep_w=0.001",
    "device.encode_cycles=10000",
    "device.apply_cycles=20000",
    "device.apply_whole_cycles=20000",
];

/// Runs these boards with the program, in `folder`.
fn run(
    program: &Path,
    folder: &Path,
    boards: &[Board],
    rounds: u32,
) -> Result<(Output, Runtime), String> {
    let sets = [
        format!("run.rounds={rounds}"),
        format!("radio.channels={}", boards.len()),
    ];
    let sets: Vec<&str> = (sets.iter().map(String::as_str)).chain(SETS).collect();
    let scenario = scenario_of(boards.len() as u32, &sets)?;
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let mut fleet = runtime.block_on(fleet_of_run(&scenario, boards));
    // Half full, so that a store that is said to be fuller is not over its capacity.
    for entry in &mut fleet.clients {
        entry.storage_j = entry.stored_j.map(|stored_j| 2.0 * stored_j);
    }
    fs::write(folder.join(FILE_NAME), fleet.to_toml()).map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .current_dir(folder)
        .args(["run", "--preset", "paper-mlp", "--plain", "--out", "run"])
        .args(sets.iter().flat_map(|set| ["--set", set]))
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    Ok((output, runtime))
}

/// Checks the exit code of a run and returns its `boards.json`.
fn report_of(folder: &Path, output: &Output) -> Result<Value, String> {
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(3) {
        return Err(format!("{}, not exit code 3: {said}", output.status));
    }
    let file = folder.join("run").join(RunDirectory::BOARDS);
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let report: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let reasons = report["reasons"].as_array().into_iter().flatten();
    for reason in reasons.filter_map(Value::as_str) {
        if !said.contains(reason) {
            return Err(format!("`{reason}` is not said: {said}"));
        }
    }
    Ok(report)
}

/// One board for each lie beside an honest one: every ledger is refused, and every board is charged as
/// if it had told the truth.
fn every_lie(program: &Path, folder: &Path) -> Result<String, String> {
    const ROUNDS: u32 = 4;
    let honest = Board {
        stored_j: Some(1.0),
        ..Board::TRUE
    };
    let lying = Lie::ALL.map(|lie| Board {
        lie: Some(lie),
        ..honest
    });
    let boards = [&[honest], &lying[..]].concat();
    let (output, _runtime) = run(program, folder, &boards, ROUNDS)?;
    let report = report_of(folder, &output)?;
    let directory = RunDirectory::new(folder.join("run"));
    let (mut reported, mut refused) = (vec![0; boards.len()], vec![0; boards.len()]);
    for event in events(&directory) {
        let at = event.client.index();
        match event.what {
            EventKind::Reported(_) => reported[at] += 1,
            EventKind::LedgerRefused { field, .. } => {
                let expected = boards[at].lie.map(Lie::field);
                if expected != Some(&field) {
                    return Err(format!(
                        "client {at}: refused for {field}, not {expected:?}"
                    ));
                }
                refused[at] += 1;
            }
            _ => {}
        }
    }
    for (at, board) in boards.iter().enumerate() {
        let expected = if board.lie.is_some() { reported[at] } else { 0 };
        if refused[at] != expected || reported[at] == 0 {
            let (refused, reported) = (refused[at], reported[at]);
            return Err(format!("{:?}: refused {refused} of {reported}", board.lie));
        }
        let compared = &report["boards"][at]["compared"];
        let difference = compared["difference"].as_f64().unwrap_or(f64::NAN);
        if difference.abs() > 1e-3 || compared["rounds"] != ROUNDS {
            return Err(format!("{:?}: booked {compared}", board.lie));
        }
    }
    let named = report["refused"].as_array().map_or(0, Vec::len);
    if named != lying.len() {
        return Err(format!("{named} boards are named: {}", report["refused"]));
    }
    Ok(format!(
        "{} kinds of false ledgers in {ROUNDS} rounds: all refused, all boards charged within 0.1 % of \
         the model, exit code 3",
        lying.len()
    ))
}

/// A small store that a board claims never to use is empty by the base station's booking, which gives
/// no more orders to it than to an honest board with the same store.
fn nothing_spent(program: &Path, folder: &Path) -> Result<String, String> {
    const ROUNDS: u32 = 12;
    let honest = Board {
        stored_j: Some(0.02),
        ..Board::TRUE
    };
    let lying = Board {
        lie: Some(Lie::NothingSpent),
        ..honest
    };
    let (output, _runtime) = run(program, folder, &[honest, lying], ROUNDS)?;
    let report = report_of(folder, &output)?;
    let declined = |at: usize| report["boards"][at]["declined"].as_u64().unwrap_or(0);
    let (own, named) = (declined(0), declined(1));
    if own == 0 || named == 0 || own.abs_diff(named) > 2 {
        return Err(format!(
            "the honest board declined {own} of {ROUNDS} orders, {named} were declined for the other"
        ));
    }
    Ok(format!(
        "of {ROUNDS} orders an honest board with a small store declined {own}; {named} were declined for \
         one that claims to spend nothing"
    ))
}
