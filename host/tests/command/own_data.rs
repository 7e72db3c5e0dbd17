//! Imported data through the command line: import, list, show, deal and train.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use gleaner_station::device::Board;
use gleaner_station::device::emulator::Emulator;
use gleaner_station::device::image::Program;
use serde_json::Value;

use crate::support::{Folder, Run, skip};

fn gleaner(cache: &Folder, words: &str) -> Command {
    let mut command = cache.gleaner(words);
    command.env("GLEANER_DATA", cache.root());
    command
}

fn printed(cache: &Folder, words: &str) -> String {
    gleaner(cache, words).succeed().stdout
}

fn json(cache: &Folder, words: &str) -> Value {
    gleaner(cache, words).succeed().json()
}

fn fail_naming(cache: &Folder, words: &str, token: &str) {
    let message = gleaner(cache, words).fail(1);
    assert!(message.contains(token), "`{token}` is not in: {message}");
}

/// Returns two columns of readings of four people who rest, walk and run; the last only rests.
fn readings() -> String {
    let mut text = "x,y,activity,person\n".to_owned();
    for person in ["ada", "bob", "cyd", "dan"] {
        for (activity, level) in [("rest", 0), ("walk", 40), ("run", 90)] {
            let rows = if person == "dan" && level > 0 { 0 } else { 60 };
            for at in 0..rows {
                let wave = (at * 7 + level) % 17;
                let (x, y) = (level + wave, level - wave);
                text.push_str(&format!("{x},{y},{activity},{person}\n"));
            }
        }
    }
    text
}

const OPTIONS: &str = "--label-column activity --client-column person --window 8 --stride 4";

/// Returns a cache that holds the data set `steps`.
fn imported() -> Folder {
    let cache = Folder::new();
    cache.write("readings.csv", readings());
    printed(
        &cache,
        &format!("data import steps --csv readings.csv {OPTIONS}"),
    );
    cache
}

#[test]
fn an_imported_table_is_listed_shown_and_dealt_to_its_owners() {
    let cache = imported();
    let list = printed(&cache, "data list");
    for name in ["steps", "readings.csv", "har", "digits"] {
        assert!(list.contains(name), "{name} in {list}");
    }
    assert!(printed(&cache, "data info steps").contains("\nada "));
    assert_eq!(
        json(&cache, "data info steps --json")["header"]["window"],
        8
    );
    let natural = "data partition --data steps --scheme natural --clients";
    let table = printed(&cache, &format!("{natural} 4"));
    assert_eq!(table.lines().count(), 5, "{table}");
    let dan = table.lines().last().unwrap();
    assert!(dan.contains("100.0 % [0]"), "dan only rests: {table}");
    fail_naming(&cache, &format!("{natural} 10"), "clients.count = 4");
    fail_naming(&cache, "data partition --scheme natural", "natural");
}

#[test]
fn clients_learn_their_own_samples_in_float_and_fixed_point() {
    let cache = imported();
    for kind in ["float", "fixed-point"] {
        let result = json(
            &cache,
            &format!(
                "simulate --rounds 20 --threads 1 --scheduler random --set data.dataset=steps \
                 --set partition.rule=natural --set clients.count=4 --set learning.hidden=8 \
                 --set learning.learning_rate=0.5 --set clients.kind={kind} --out {kind} --json \
                 --quiet"
            ),
        );
        // A single number nearly tells the three activities apart.
        let accuracy = result["summary"]["final_accuracy"].as_f64().unwrap();
        assert!(accuracy > 0.6, "{kind}: {accuracy}");
    }
}

/// Returns two columns of ten gestures of two people: windows of 32 readings for a network 64-32-10.
fn gestures() -> String {
    let mut text = "x,y,gesture,person\n".to_owned();
    for person in 0..2 {
        for gesture in 0..10 {
            for at in 0..160 {
                let (x, y) = ((at * (gesture + 1)) % 32, (at * 5 + gesture * 13) % 41);
                text.push_str(&format!("{x},{},g{gesture},p{person}\n", y + person));
            }
        }
    }
    text
}

const GESTURES: &str = r#"
preset = "demo"
[data]
dataset = "gestures"
[partition]
rule = "natural"
[clients]
count = 2
[learning]
hidden = [32]
learning_rate = 0.2
# Of a Pico with this network, as the preset digits-rp2040 has them.
[device]
cycles_per_sample = 4.374e3
cycles_per_nonzero = 180.5
cycles_per_epoch = 405.7e3
evaluate_cycles = 75.13e3
evaluate_cycles_per_sample = 3.057e3
evaluate_cycles_per_nonzero = 65.65
apply_cycles = 771.9e3
apply_whole_cycles = 65.30e3
encode_cycles = 204.4e3
open_cycles = 1.251e6
open_whole_cycles = 2.339e6
seal_cycles = 2.115e6
save_s = 0.0181
"#;

/// Follows docs/guide/own-data.md: import a table, simulate, train on an emulated Pico to the same model, and
/// classify windows on it.
#[test]
fn a_table_becomes_a_model_that_a_pico_classifies_with() {
    let network = "64-32-10".parse().unwrap();
    let pico = Board::Rp2040;
    let ready = (Emulator::of(pico).and_then(Emulator::ensure_installed))
        .and_then(|()| pico.ensure_for(Program::Client, network));
    if let Err(missing) = ready {
        return skip(missing);
    }
    let cache = Folder::new();
    cache.write("gestures.csv", gestures());
    cache.write("gestures.toml", GESTURES);
    printed(
        &cache,
        "data import gestures --csv gestures.csv --label-column gesture --client-column person \
         --window 32 --stride 16",
    );
    let rounds = "--preset gestures.toml --rounds 3 --json --quiet --out";
    let simulated = json(&cache, &format!("simulate {rounds} simulated"));
    let emulate = "emulate --boards rp2040:1 --simulated 1 --run";
    let trained = json(&cache, &format!("{emulate} {rounds} trained"));
    assert_eq!(trained["model_sha256"], simulated["model_sha256"]);
    let events = cache.read("trained/events.jsonl");
    assert!(events.contains(r#""event":"uploaded""#), "{events}");
    let infer = "infer --fleet trained/fleet.toml --board pico-0 --preset gestures.toml \
                 --run trained --deliver --image test:0 --image test:9 --flashed 3 --json";
    let answers = json(&cache, infer);
    for answer in &answers.as_array().unwrap()[..2] {
        let class = answer["class"].as_u64().unwrap();
        assert_eq!(answer["host_class"], class, "{answer}");
        assert_eq!(answer["class_name"], format!("g{class}"), "{answer}");
    }
    assert!(answers[2]["label"].is_u64(), "{answers}");
    // A scenario of another network is refused.
    fail_naming(
        &cache,
        &infer.replace("gestures.toml", "har-rp2040"),
        "192-50-7",
    );
}

#[test]
fn a_table_may_come_through_a_pipe_and_use_the_scale_of_another_set() {
    let cache = imported();
    cache.write("scale.csv", printed(&cache, "data info steps --scale"));
    let line = format!("data import later --csv - {OPTIONS} --scale scale.csv");
    let mut import = gleaner(&cache, &line);
    let import = import.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = import.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(readings().as_bytes()).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    let scale = printed(&cache, "data info later --scale");
    assert_eq!(scale, cache.read("scale.csv"));
}

#[test]
fn invalid_tables_and_names_are_refused_and_nothing_is_written() {
    let cache = Folder::new();
    let good = readings();
    for (row, options, token) in [
        ("NaN,1,rest,ada\n", "activity", "bad.csv, line 602"),
        ("1,2,rest\n", "activity", "bad.csv, line 602"),
        ("", "activty", "activty"),
        ("", "activity --classes rest,walk", "bad.csv, line 122"),
    ] {
        cache.write("bad.csv", good.clone() + row);
        let import = "data import steps --csv bad.csv --client-column person";
        fail_naming(&cache, &format!("{import} --label-column {options}"), token);
        assert_eq!(cache.names(""), ["bad.csv"]);
    }
    let unknown = "simulate --rounds 1 --out x --set data.dataset=stpes";
    fail_naming(&cache, unknown, "`stpes`");
    assert_eq!(cache.names(""), ["bad.csv"]);
}

#[cfg(target_os = "linux")]
#[test]
fn an_import_on_a_full_disk_leaves_the_existing_set() {
    let cache = imported();
    let set = cache.path("steps/dataset.gds");
    let before = fs::read(&set).unwrap();
    let line = "data import steps --force --csv readings.csv --label-column activity \
                --client-column person --window 8 --stride 1";
    // The rows do not fit, then the rows fit and the set does not.
    for blocks in [1, 14] {
        gleaner(&cache, line).limited(blocks).fail(1);
        assert_eq!(fs::read(&set).unwrap(), before);
        assert_eq!(cache.names("steps"), ["dataset.gds"]);
    }
}
