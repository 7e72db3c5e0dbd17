//! Runs with boards whose ledgers agree with the model, or do not: words, JSON and exit codes.

use std::path::Path;

use gleaner_sim::scenario::{Override, Scenario, resolve};
use gleaner_station::fleet_file::FleetFile;
use gleaner_station::setup::overrides;
use gleaner_tests::attack::process::ledger;
use gleaner_tests::client::Stall;
use gleaner_tests::peers::{Board, fleet_of_run};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::support::{Folder, Run};

/// Settings of the runs: every client has an order in each round, and all prices count.
const SETS: [&str; 14] = [
    "run.rounds=3",
    "run.seed=3",
    "run.scheduler=random",
    "radio.channels=3",
    "partition.mean_samples=60",
    "partition.std_samples=10",
    "data.test_samples=50",
    "device.receive_w=0.05",
    "device.circuit_w=0.005",
    "device.idle_w=0.002",
    "device.sleep_w=0.001",
    "device.encode_cycles=10000",
    "device.apply_cycles=20000",
    "device.apply_whole_cycles=20000",
];

fn scenario() -> Scenario {
    let simulated = FleetFile::parse(&crate::support::simulated_fleet(3), "test").unwrap();
    let sets = SETS.iter().map(|set| set.parse().unwrap());
    let sets: Vec<Override> = sets.chain(overrides(&simulated)).collect();
    resolve("paper-mlp", &sets).unwrap()
}

/// Runs three boards with `gleaner run`; returns the folder and the runtime that serves them.
fn with_boards(boards: [Board; 3], options: &str) -> (Folder, Runtime, String) {
    let folder = Folder::new();
    let runtime = Runtime::new().unwrap();
    let fleet = runtime.block_on(fleet_of_run(&scenario(), &boards));
    folder.write("fleet.toml", fleet.to_toml());
    let sets: String = SETS.iter().map(|set| format!(" --set {set}")).collect();
    let command = format!("run --preset paper-mlp --plain --out run {options}{sets}");
    (folder, runtime, command)
}

#[test]
fn a_board_that_keeps_a_run_waiting_sits_out_and_the_run_is_complete() {
    let stalls = Board {
        stalls: Some((Stall::Idle, u32::MAX)),
        ..Board::TRUE
    };
    // Quick boards, so that two updates soon make a quorum.
    let settings = "--set run.quorum=2 --set run.scheduler=greedy --set device.harvest_j=1 \
                    --set device.deadline_s=1 --set run.rounds=4";
    let (folder, _runtime, command) = with_boards([Board::TRUE, stalls, Board::TRUE], "");
    let fleet = folder.read("fleet.toml");
    let fleet = fleet.replace("baud = 921600", "baud = 8000000");
    folder.write("fleet.toml", fleet);
    let printed = folder.succeed(&format!("{command} {settings}"));
    let (events, summary) = (&printed.stderr, &printed.stdout);
    assert!(events.contains("sits out until round 3"), "{events}");
    assert!(summary.contains("sat out: client-1 (2 times)"), "{summary}");
    let report = folder.json("run/boards.json");
    let pauses = [0, 1, 2].map(|at: usize| report["boards"][at]["pauses"].as_u64());
    assert_eq!(pauses, [Some(0), Some(2), Some(0)]);
    folder.succeed("verify run");
    // The old option is accepted, and the run is complete already.
    let old = folder.succeed("resume run --wall-limit-s 300 --json");
    assert!(old.json()["boards"] == report);
}

fn booked(it: &Value) -> [f64; 3] {
    ["rounds", "booked_j", "modelled_j"].map(|key| it[key].as_f64().unwrap())
}

#[test]
fn boards_with_the_models_books_end_with_exit_code_0() {
    let (folder, _runtime, command) = with_boards([Board::TRUE; 3], "");
    let printed = folder.succeed(&command);
    assert!(printed.stdout.contains("(+0.0 %)"), "{}", printed.stdout);
    let report = folder.json("run/boards.json");
    assert_eq!(
        (&report["exit_code"], &report["reasons"]),
        (&0.into(), &Value::Array(vec![]))
    );
    let [rounds, booked_j, modelled_j] = booked(&report["total"]["compared"]);
    assert_eq!(rounds, 9.0);
    assert!(booked_j > 0.0 && booked_j == modelled_j, "{report}");
    // The model's sum is that of the logs.
    let summary = folder.succeed("report --json run").json();
    let energy_j = summary["summary"]["energy_j"].as_f64().unwrap();
    assert!(
        (energy_j - modelled_j).abs() < 1e-12,
        "{energy_j} {modelled_j}"
    );
    assert_eq!(summary["boards"], report);
    assert_eq!(
        folder.gleaner("verify run").output().unwrap().status.code(),
        Some(0)
    );
}

#[test]
fn a_board_that_books_twice_the_model_is_named_and_ends_with_exit_code_3() {
    let twice = Board {
        factor: 2,
        ..Board::TRUE
    };
    let (folder, _runtime, command) = with_boards([Board::TRUE, twice, Board::TRUE], "");
    let stderr = folder.gleaner(&command).fail(3);
    for words in [
        "client-1 booked",
        "(+100.0 %)",
        "all boards booked",
        "most in ",
    ] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    assert!(!stderr.contains("client-0 booked"), "{stderr}");
    let report = folder.json("run/boards.json");
    assert_eq!(report["exit_code"], 3);
    let differs = |at: usize| report["boards"][at]["differs"].as_bool().unwrap();
    assert_eq!([0, 1, 2].map(differs), [false, true, false]);
    let [_, booked_j, modelled_j] = booked(&report["boards"][1]["compared"]);
    assert!((booked_j / modelled_j - 2.0).abs() < 1e-9);
    // The same in every later look at the run.
    let page = folder.read("run/report.html");
    assert!(page.contains("client-1 booked"));
    assert_eq!(folder.succeed("report --json run").json()["boards"], report);
    for again in ["verify run", "resume run"] {
        let stderr = folder.gleaner(again).fail(3);
        assert!(stderr.contains("client-1 booked"), "{again}: {stderr}");
    }
    std::fs::remove_file(folder.path("run/boards.json")).unwrap();
    let printed = folder.succeed("report run");
    assert!(
        printed.stdout.contains("client-1 booked"),
        "{}",
        printed.stdout
    );
    assert_eq!(folder.json("run/boards.json"), report);
}

#[test]
fn declined_orders_are_resting_in_both_books_and_cut_orders_are_not_compared() {
    // Enough to listen and sleep, not to train.
    let poor = Board {
        stored_j: Some(2e-4),
        ..Board::TRUE
    };
    let leaves = Board {
        leaves_in: Some(2),
        ..Board::TRUE
    };
    let (folder, _runtime, command) = with_boards([poor, leaves, Board::TRUE], "--round-limit-s 4");
    folder.succeed(&command);
    let report = folder.json("run/boards.json");
    let of = |at: usize| &report["boards"][at];
    assert!(of(0)["declined"].as_u64() > Some(0), "{report}");
    assert_eq!(booked(&of(0)["compared"])[0], 3.0);
    let [rounds, booked_j, modelled_j] = booked(&of(1)["not_compared"]);
    assert_eq!(rounds, 2.0, "rounds 2 and 3");
    assert!(0.0 < booked_j && booked_j < modelled_j, "{report}");
    for at in 0..3 {
        let [_, booked_j, modelled_j] = booked(&of(at)["compared"]);
        assert_eq!(booked_j, modelled_j, "{at}: {report}");
    }
}

#[test]
fn boards_with_false_ledgers_are_refused_charged_and_named() {
    let program = Path::new(env!("CARGO_BIN_EXE_gleaner"));
    for (name, attack) in ledger::ALL {
        let folder = Folder::new();
        std::fs::create_dir_all(folder.path("")).unwrap();
        let outcome = attack(program, &folder.path(""));
        assert!(outcome.is_ok(), "{name}: {}", outcome.unwrap_err());
    }
}
