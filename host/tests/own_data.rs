//! Data of one's own through the command line: imported, listed, shown, dealt, and refused.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use gleaner_station::device::Board;
use gleaner_station::device::emulator::Emulator;
use gleaner_station::device::image::{Program, is_strict};

fn gleaner(cache: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
    command
        .env("GLEANER_DATA", cache)
        .current_dir(cache)
        .args(arguments.split_whitespace());
    command
}

fn output(cache: &Path, arguments: &str) -> (Option<i32>, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = gleaner(cache, arguments).output().unwrap();
    let said = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    (status.code(), said.into_owned())
}

/// Readings of four people who rest, walk and run, one of whom only rests; two columns.
fn readings() -> String {
    let mut text = "x,y,activity,person\n".to_owned();
    for person in ["ada", "bob", "cyd", "dan"] {
        for (activity, level) in [("rest", 0), ("walk", 40), ("run", 90)] {
            let rows = if person == "dan" && level > 0 { 0 } else { 60 };
            for at in 0..rows {
                let wave = (at * 7 + level) % 17;
                text.push_str(&format!(
                    "{},{},{activity},{person}\n",
                    level + wave,
                    level - wave
                ));
            }
        }
    }
    text
}

const OPTIONS: &str = "--label-column activity --client-column person --window 8 --stride 4";

fn import(cache: &Path) -> String {
    let table = cache.join("readings.csv");
    fs::write(&table, readings()).unwrap();
    let line = format!("data import steps --csv {} {OPTIONS}", table.display());
    let (code, said) = output(cache, &line);
    assert_eq!(code, Some(0), "{said}");
    said
}

#[test]
fn a_table_is_imported_listed_shown_and_dealt_to_those_who_gathered_it() {
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path();
    let said = import(cache);
    assert!(said.contains("of 16 inputs, 3 classes"), "{said}");
    assert!(
        said.contains("--set partition.rule=natural --set clients.count=4"),
        "{said}"
    );
    let (_, list) = output(cache, "data list");
    assert!(
        list.contains("steps") && list.contains("imported from readings.csv"),
        "{list}"
    );
    assert!(list.contains("har") && list.contains("digits"), "{list}");
    let (_, info) = output(cache, "data show steps");
    assert!(info.contains("classes: rest, run, walk"), "{info}");
    assert!(info.lines().any(|line| line.starts_with("ada ")), "{info}");
    let (_, json) = output(cache, "data info steps --json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["header"]["window"], 8);
    let dealt = "partition --data steps --scheme natural --clients";
    let (code, table) = output(cache, &format!("{dealt} 4"));
    assert_eq!((code, table.lines().count()), (Some(0), 5), "{table}");
    // Dan has rested and done nothing else.
    let dan = table.lines().last().unwrap();
    assert!(dan.contains("100.0 % [0]"), "{table}");
    let (code, said) = output(cache, &format!("{dealt} 10"));
    assert_eq!(code, Some(1));
    assert!(
        said.contains("gathered by 4 clients (ada, bob, cyd, dan); set clients.count = 4"),
        "{said}"
    );
    let (code, said) = output(cache, "partition --scheme natural");
    assert_eq!(code, Some(1));
    assert!(
        said.contains("does not say who gathered its samples"),
        "{said}"
    );
}

#[test]
fn clients_learn_what_they_gathered_in_either_arithmetic() {
    let cache = tempfile::tempdir().unwrap();
    import(cache.path());
    for kind in ["float", "fixed-point"] {
        let line = format!(
            "simulate --rounds 20 --threads 1 --scheduler random --set data.dataset=steps --set \
             partition.rule=natural --set clients.count=4 --set learning.hidden=8 --set \
             learning.learning_rate=0.5 --set clients.kind={kind} --out {kind} --json --quiet"
        );
        let made = gleaner(cache.path(), &line).output().unwrap();
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{said}");
        let summary: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
        let accuracy = summary["summary"]["final_accuracy"].as_f64().unwrap();
        // Three activities that a single number nearly tells apart.
        assert!(accuracy > 0.6, "{kind}: {accuracy}");
    }
}

/// Ten gestures of two people, two columns: windows of 32 readings for a network 64-32-10.
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
[device]
cycles_per_sample = 30e3
"#;

fn json(cache: &Path, arguments: &str) -> serde_json::Value {
    let made = gleaner(cache, arguments).output().unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{arguments}: {said}");
    serde_json::from_slice(&made.stdout).unwrap()
}

/// The walk of docs/guide/own-data.md: a table, a set, a simulation, an image for its network, rounds with an
/// emulated Pico that end with the same model, and a window that the Pico classifies.
#[test]
fn a_table_becomes_a_model_on_a_pico_that_names_what_it_is_shown() {
    let network = "64-32-10".parse().unwrap();
    let pico = Board::Rp2040;
    let ready = (Emulator::of(pico).and_then(Emulator::ensure_installed))
        .and_then(|()| pico.ensure_for(Program::Client, network));
    if let Err(missing) = ready {
        assert!(!is_strict(), "{missing}");
        let test = std::thread::current();
        let test = test.name().unwrap_or("?");
        let _ = writeln!(std::io::stderr(), "skipped: {test}: {missing}");
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path();
    fs::write(cache.join("gestures.csv"), gestures()).unwrap();
    fs::write(cache.join("gestures.toml"), GESTURES).unwrap();
    let (code, said) = output(
        cache,
        "data import gestures --csv gestures.csv --label-column gesture --client-column person --window 32 \
         --stride 16",
    );
    assert_eq!(code, Some(0), "{said}");
    let rounds = "--preset gestures.toml --rounds 3 --json --quiet --out";
    let simulated = json(cache, &format!("simulate {rounds} simulated"));
    let trained = json(
        cache,
        &format!("emulate --boards rp2040:1 --simulated 1 --run {rounds} trained"),
    );
    assert_eq!(trained["model_sha256"], simulated["model_sha256"]);
    let events = fs::read_to_string(cache.join("trained/events.jsonl")).unwrap();
    assert!(events.contains(r#""event":"uploaded""#), "{events}");
    let asked = "infer --fleet trained/fleet.toml --board pico-0 --preset gestures.toml --run trained \
                 --deliver --image test:0 --image test:9 --flashed 3 --json";
    let answers = json(cache, asked);
    for answer in &answers.as_array().unwrap()[..2] {
        let class = answer["class"].as_u64().unwrap();
        assert_eq!(answer["host_class"], class, "{answer}");
        assert_eq!(answer["class_name"], format!("g{class}"), "{answer}");
    }
    assert!(answers[2]["label"].is_u64(), "{answers}");
    // A scenario of another network is named before anything is asked.
    let (code, said) = output(cache, &asked.replace("gestures.toml", "har"));
    assert_ne!(code, Some(0));
    assert!(said.contains("192-50-7"), "{said}");
}

#[test]
fn a_name_nobody_knows_is_refused_with_all_names_there_are() {
    let cache = tempfile::tempdir().unwrap();
    import(cache.path());
    let (code, said) = output(
        cache.path(),
        "simulate --rounds 1 --set data.dataset=stpes --out x",
    );
    assert_eq!(code, Some(1));
    assert!(
        said.contains("no data set `stpes`: choose mnist-subset, mnist"),
        "{said}"
    );
    assert!(
        said.contains("digits, steps or an existing folder"),
        "{said}"
    );
    let (code, said) = output(
        cache.path(),
        "simulate --rounds 1 --set data.dataset=../steps",
    );
    assert_ne!(code, Some(0));
    assert!(said.contains("cannot name a data set"), "{said}");
}

#[test]
fn a_table_may_come_through_a_pipe_and_the_scale_of_one_set_serves_another() {
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path();
    import(cache);
    let (_, scale) = output(cache, "data info steps --scale");
    let path = cache.join("scale.csv");
    fs::write(&path, scale).unwrap();
    let line = format!(
        "data import later --csv - {OPTIONS} --scale {}",
        path.display()
    );
    let mut child = gleaner(cache, &line)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(readings().as_bytes()).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    let (_, again) = output(cache, "data info later --scale");
    assert_eq!(again, fs::read_to_string(path).unwrap());
}

#[test]
fn what_cannot_be_used_is_refused_with_its_line_and_nothing_is_written() {
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path();
    let good = readings();
    for (bad, options, words) in [
        (
            good.clone() + "NaN,1,rest,ada\n",
            OPTIONS,
            "bad.csv, line 602: column `x` is `NaN`, not a finite number",
        ),
        (
            good.clone() + "1,2,rest\n",
            OPTIONS,
            "bad.csv, line 602: 3 columns instead of 4",
        ),
        (
            good.clone(),
            "--label-column activty --client-column person",
            "bad.csv, line 1: no column is called `activty` (--label-column); there are x, y, activity",
        ),
        (
            good,
            "--label-column activity --client-column person --classes rest,walk",
            "bad.csv, line 122: the label `run`",
        ),
    ] {
        fs::write(cache.join("bad.csv"), bad).unwrap();
        let line = format!("data import steps --csv bad.csv {options}");
        let (code, said) = output(cache, &line);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!cache.join("steps").exists());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_import_without_room_leaves_what_was_there_and_nothing_else() {
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path();
    import(cache);
    let set = cache.join("steps/dataset.gds");
    let before = fs::read(&set).unwrap();
    // Room for neither the rows, then for those but not for the set.
    for (blocks, window) in [(1, 8), (14, 8)] {
        let line = format!(
            "data import steps --force --csv {} --label-column activity --client-column person --window \
             {window} --stride 1",
            cache.join("readings.csv").display()
        );
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""
            ))
            .arg(env!("CARGO_BIN_EXE_gleaner"))
            .args(line.split_whitespace())
            .env("GLEANER_DATA", cache)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("File too large"), "{said}");
        assert_eq!(fs::read(&set).unwrap(), before);
        assert_eq!(fs::read_dir(cache.join("steps")).unwrap().count(), 1);
    }
}
