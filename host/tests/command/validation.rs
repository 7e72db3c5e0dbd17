//! Validation images: no client trains on them, they change no result, and a run may stop on them.

use std::collections::HashSet;

use gleaner_learn::partition::Rule;
use gleaner_sim::fleet;
use gleaner_sim::scenario::{Override, Scenario, resolve};
use gleaner_station::setup::shards;
use serde_json::Value;
use strum::VariantArray;

use crate::support::{Folder, SMALL};

/// With [`RATE`] this stops before its last round.
const STOPPING: &str = "--rounds 80 --set run.stop=validation --set run.patience=3 \
                        --set data.validation_samples=100";
const RATE: &str = "--set learning.learning_rate=0.1";

fn simulate(folder: &Folder, out: &str, more: &str) -> Value {
    let command = format!("simulate --quiet --json {SMALL} {RATE} --out {out} {more}");
    folder.succeed(&command).json()
}

fn rows(folder: &Folder, run: &str) -> Vec<Value> {
    let text = folder.read(&format!("{run}/rounds.jsonl"));
    let row = |line: &str| serde_json::from_str(line).unwrap();
    text.lines().map(row).collect()
}

#[test]
fn validation_changes_neither_the_model_nor_the_clients() {
    for kind in ["float", "fixed-point"] {
        let folder = Folder::new();
        let run = |count: &str| {
            let more = format!(
                "--rounds 3 --set clients.kind={kind} --set data.validation_samples={count}"
            );
            let model = simulate(&folder, count, &more)["model_sha256"].clone();
            let clients = folder.read(&format!("{count}/clients.csv"));
            (model, clients, rows(&folder, count))
        };
        let (model, clients, plain) = run("0");
        assert!(plain[2].get("validation_loss").is_none());
        let (found, same, validated) = run("1000");
        assert_eq!((found, same), (model, clients), "{kind}");
        for (row, plain) in validated.iter().zip(&plain) {
            assert_eq!(row["test_loss"], plain["test_loss"]);
            assert!(row["validation_accuracy"].is_f64() && row["validation_loss"].is_f64());
        }
    }
}

#[test]
fn partitions_and_shards_of_boards_contain_no_validation_image() {
    // The natural rule needs owners, which these images do not have.
    for rule in Rule::VARIANTS.iter().filter(|it| **it != Rule::Natural) {
        let scenario = |samples: i64| {
            let sets = [
                Override::new("partition.rule", rule.to_string()),
                Override::new("data.validation_samples", samples),
            ];
            resolve("paper-mlp", &sets).unwrap()
        };
        let (plain, validated) = (scenario(0), scenario(2000));
        let data = fleet::load_data(&plain).unwrap();
        let partition = fleet::deal(&validated, &data).unwrap();
        assert_eq!(partition, fleet::deal(&plain, &data).unwrap(), "{rule}");
        let set_aside = |scenario| fleet::set_aside(scenario, &data, &partition).unwrap();
        assert!(set_aside(&plain).is_empty());
        let unowned: HashSet<u32> = set_aside(&validated).into_iter().collect();
        assert_eq!(unowned.len(), 2000);
        let mut owned = partition.clients.iter().flatten();
        assert!(!owned.any(|sample| unowned.contains(sample)), "{rule}");
        let on_boards = |scenario: &Scenario| shards(scenario, &data, |_| None).unwrap();
        assert!(on_boards(&validated) == on_boards(&plain), "{rule}");
    }
}

#[test]
fn more_validation_images_than_are_left_are_refused_before_the_run() {
    let folder = Folder::new();
    let words = "simulate --set data.validation_samples=22000 --out run";
    folder.fail_naming(words, "12004");
    assert!(!folder.exists("run"));
}

#[test]
fn a_run_stops_with_its_best_model_on_any_number_of_threads() {
    let folder = Folder::new();
    let result = simulate(&folder, "stopped", STOPPING);
    let rows = rows(&folder, "stopped");
    let (summary, last) = (&result["summary"], rows.last().unwrap());
    assert!(rows.len() < 80, "the run must stop early");
    assert_eq!(summary["rounds"], rows.len());
    assert_eq!(summary["ending"], last["ending"]);
    assert_eq!(summary["ending"]["cause"], "patience");
    let kept = summary["ending"]["kept_round"].as_u64().unwrap();
    assert_eq!(kept + 3, rows.len() as u64);

    let score = |row: &Value| row["validation_accuracy"].as_f64().unwrap();
    let best = &rows[kept as usize - 1];
    assert!(rows.iter().all(|row| score(row) <= score(best)));
    assert_eq!(summary["final_accuracy"], best["accuracy"]);
    let accuracy = &summary["final_validation_accuracy"];
    assert_eq!(*accuracy, best["validation_accuracy"]);

    let shorter = simulate(&folder, "shorter", &format!("--rounds {kept}"));
    assert_eq!(result["model_sha256"], shorter["model_sha256"]);

    simulate(&folder, "threads", &format!("{STOPPING} --threads 3"));
    assert_eq!(folder.sums("threads"), folder.sums("stopped"));
}

#[test]
fn tables_of_runs_append_columns_for_validation() {
    let folder = Folder::new();
    let compare = |samples: &str| {
        let printed = folder.succeed(&format!(
            "compare {SMALL} {RATE} --rounds 3 --schedulers random --baseline-power max \
             --servers described --seeds 2 -q --set data.validation_samples={samples} --out {samples}"
        ));
        (
            printed.stdout,
            folder.read(&format!("{samples}/compare.csv")),
        )
    };
    let (text, plain) = compare("0");
    assert!(!text.contains("validation"), "{text}");
    let (text, csv) = compare("100");
    assert!(text.contains("validation"), "{text}");
    let columns = "modelled_s,final_validation_accuracy,tail_validation_accuracy,rounds,kept_round";
    assert!(csv.lines().next().unwrap().ends_with(columns), "{csv}");
    assert_eq!(csv.lines().count(), 3);
    for (row, plain) in csv.lines().zip(plain.lines()).skip(1) {
        let [row, plain] = [row, plain].map(|it| it.split(',').collect::<Vec<_>>());
        assert_eq!(row[..16], plain[..16]);
        assert_eq!(plain[16..], ["", "", "3", "3"]);
        assert!(row[16].parse::<f64>().is_ok() && row[17].parse::<f64>().is_ok());
    }
}
