//! Validation images through the whole program: nobody trains on them, they change nothing by being
//! there, and a run may stop on them.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use gleaner_learn::partition::Rule;
use gleaner_sim::fleet;
use gleaner_sim::scenario::{Override, Scenario, resolve};
use gleaner_station::setup::shards;
use serde_json::Value;
use strum::VariantArray;

const SMALL: [&str; 4] = [
    "partition.mean_samples=60",
    "partition.std_samples=10",
    "data.test_samples=50",
    "learning.learning_rate=0.1",
];
/// With [`SMALL`] this stops before its last round.
const STOPPING: [&str; 4] = [
    "run.rounds=80",
    "run.stop=validation",
    "run.patience=3",
    "data.validation_samples=100",
];

fn gleaner(command: &str, sets: &[&str], more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .arg(command)
        .args(sets.iter().flat_map(|set| ["--set", set]))
        .args(more)
        .output()
        .unwrap()
}

fn simulate(out: &Path, sets: &[&[&str]], threads: &str) -> Value {
    let out = out.to_str().unwrap();
    let more = ["--quiet", "--json", "--threads", threads, "--out", out];
    let output = gleaner("simulate", &[&SMALL, &sets.concat()[..]].concat(), &more);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn rows(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("rounds.jsonl")).unwrap();
    let row = |line: &str| serde_json::from_str(line).unwrap();
    text.lines().map(row).collect()
}

fn scenario(sets: &[&str]) -> Scenario {
    let overrides: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
    resolve("paper-mlp", &overrides).unwrap()
}

#[test]
fn being_validated_changes_neither_the_model_nor_the_clients() {
    for kind in ["clients.kind=float", "clients.kind=fixed-point"] {
        let folder = tempfile::tempdir().unwrap();
        let of = |count: &str| {
            let run = folder.path().join(count);
            let samples = format!("data.validation_samples={count}");
            let result = simulate(&run, &[&["run.rounds=5", kind], &[&samples]], "1");
            let clients = fs::read(run.join("clients.csv")).unwrap();
            (result["model_sha256"].clone(), clients, rows(&run))
        };
        let (model, clients, plain) = of("0");
        assert!(plain[4].get("validation_loss").is_none());
        for count in ["1", "1000"] {
            let (found, same, validated) = of(count);
            assert_eq!(found, model, "{kind}, {count}");
            assert_eq!(same, clients, "{kind}, {count}");
            for (row, plain) in validated.iter().zip(&plain) {
                assert_eq!(row["test_loss"], plain["test_loss"]);
                assert!(row["validation_accuracy"].is_f64() && row["validation_loss"].is_f64());
            }
        }
    }
}

#[test]
fn clients_and_the_shards_of_boards_are_as_without_and_contain_none() {
    // Whose these pictures are is not known, and where it is nothing is left unowned.
    let dealt = |rule: &&Rule| **rule != Rule::Natural;
    for rule in Rule::VARIANTS.iter().filter(dealt) {
        for seed in 0..3 {
            let (rule, seed) = (format!("partition.rule={rule}"), format!("run.seed={seed}"));
            let plain = scenario(&[&rule, &seed]);
            let data = fleet::load_data(&plain).unwrap();
            let expected = fleet::deal(&plain, &data).unwrap();
            assert!(
                fleet::set_aside(&plain, &data, &expected)
                    .unwrap()
                    .is_empty()
            );

            let validated = scenario(&[&rule, &seed, "data.validation_samples=2000"]);
            let partition = fleet::deal(&validated, &data).unwrap();
            assert_eq!(partition, expected, "{rule}");
            let unowned = fleet::set_aside(&validated, &data, &partition).unwrap();
            let unowned: HashSet<u32> = unowned.into_iter().collect();
            assert_eq!(unowned.len(), 2000);
            let mut owned = partition.clients.iter().flatten();
            assert!(!owned.any(|sample| unowned.contains(sample)), "{rule}");
            let on_boards = |scenario: &Scenario| shards(scenario, &data, |_| None).unwrap();
            assert!(on_boards(&validated) == on_boards(&plain), "{rule}");
        }
    }
}

#[test]
fn more_than_there_are_is_refused_with_the_numbers_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let sets = ["data.validation_samples=22000"];
    let output = gleaner("simulate", &sets, &["--out", out.to_str().unwrap()]);
    assert!(!output.status.success() && !out.exists());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("validation_samples = 22000: the clients own all but 12004 of the 22000"),
        "{said}"
    );
}

#[test]
fn a_run_stops_with_the_best_model_which_is_that_of_a_shorter_run() {
    let folder = tempfile::tempdir().unwrap();
    let stopped = folder.path().join("stopped");
    let result = simulate(&stopped, &[&STOPPING], "1");
    let rows = rows(&stopped);
    let (summary, last) = (&result["summary"], rows.last().unwrap());
    assert!(
        rows.len() < 80,
        "it must stop for this test to mean anything"
    );
    assert_eq!(summary["rounds"], rows.len());
    assert_eq!(summary["ending"], last["ending"]);
    assert_eq!(summary["ending"]["cause"], "patience");
    let kept = summary["ending"]["kept_round"].as_u64().unwrap();
    assert_eq!(kept + 3, rows.len() as u64);

    // The best by the log, and what the summary says of it.
    let score = |row: &Value| row["validation_accuracy"].as_f64().unwrap();
    let best = &rows[kept as usize - 1];
    assert!(rows.iter().all(|row| score(row) <= score(best)));
    assert_eq!(summary["final_accuracy"], best["accuracy"]);
    assert_eq!(
        summary["final_validation_accuracy"],
        best["validation_accuracy"]
    );

    // A run of so many rounds has the same model file, which says how many they were.
    let shorter = folder.path().join("shorter");
    let rounds = format!("run.rounds={kept}");
    let expected = simulate(&shorter, &[&[&rounds]], "1");
    assert_eq!(result["model_sha256"], expected["model_sha256"]);

    let report = fs::read_to_string(stopped.join("report.html")).unwrap();
    let words = format!("of round {kept} of {}: no better score came", rows.len());
    assert!(report.contains(&words));
}

#[test]
fn a_run_that_stops_leaves_the_same_bytes_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let of = |threads: &str| {
        let run = folder.path().join(threads);
        simulate(&run, &[&STOPPING], threads);
        fs::read_to_string(run.join("SHA256SUMS")).unwrap()
    };
    let one = of("1");
    assert_eq!(of("2"), one);
    assert_eq!(of("4"), one);
}

#[test]
fn tables_of_runs_have_the_validation_behind_the_columns_they_had() {
    let folder = tempfile::tempdir().unwrap();
    let compare = |name: &str, samples: &str| {
        let out = folder.path().join(name);
        let sets = [&SMALL[..], &["run.rounds=3", samples]].concat();
        let more = ["--schedulers", "random", "--baseline-power", "max"];
        let more = [&more[..], &["--seeds", "2", "-q", "--out"]].concat();
        let output = gleaner(
            "compare",
            &sets,
            &[&more[..], &[out.to_str().unwrap()]].concat(),
        );
        assert!(output.status.success());
        let csv = fs::read_to_string(out.join("compare.csv")).unwrap();
        (String::from_utf8(output.stdout).unwrap(), csv)
    };
    let (text, plain) = compare("plain", "data.validation_samples=0");
    assert!(!text.contains("validation"), "{text}");
    let (text, csv) = compare("validated", "data.validation_samples=100");
    assert!(text.contains("validation last tenth %"), "{text}");
    let columns = "modelled_s,final_validation_accuracy,tail_validation_accuracy,rounds,kept_round";
    for (row, plain) in csv.lines().zip(plain.lines()).skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let before: Vec<&str> = plain.split(',').collect();
        assert_eq!(cells[..15], before[..15]);
        assert_eq!(before[15..], ["", "", "3", "3"]);
        assert!(cells[15].parse::<f64>().is_ok() && cells[16].parse::<f64>().is_ok());
    }
    assert!(csv.lines().next().unwrap().ends_with(columns), "{csv}");
    assert_eq!(csv.lines().count(), 3);
}
