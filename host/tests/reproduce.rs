//! `gleaner reproduce --scale smoke` as a process: its files, a repetition without runs, a kill, and a
//! damaged run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

fn reproduce(out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
    command.args(["reproduce", "--scale", "smoke", "--out"]);
    command.arg(out).args(more);
    command
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// The files beside the runs, with their bytes.
fn files(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(out).unwrap().map(Result::unwrap);
    entries
        .filter(|entry| entry.path().is_file() && entry.file_name() != "plan.json")
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// When every run was completed.
fn completions(out: &Path) -> BTreeMap<String, SystemTime> {
    let runs = fs::read_dir(out.join("points"))
        .unwrap()
        .map(Result::unwrap);
    runs.filter_map(|run| {
        let sums = fs::metadata(run.path().join("SHA256SUMS")).ok()?;
        Some((
            run.file_name().into_string().unwrap(),
            sums.modified().unwrap(),
        ))
    })
    .collect()
}

/// One column of a CSV of rows whose other columns are as given.
fn column(csv: &str, wanted: &str, keys: &[(&str, &str)]) -> Vec<f64> {
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let place = |name: &str| header.iter().position(|it| *it == name).unwrap();
    csv.lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|row| keys.iter().all(|(key, value)| row[place(key)] == *value))
        .map(|row| row[place(wanted)].parse().unwrap())
        .collect()
}

#[test]
fn a_smoke_check_is_executed_once_survives_a_kill_and_names_damaged_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let said = succeed(&mut reproduce(&out, &[]));
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("report.html"), "{said}");

    // Orders that hold at any size: chosen powers cost less than full power, and glean the least.
    let whole = files(&out);
    let table = String::from_utf8(whole["table-accuracy-mnist.csv"].clone()).unwrap();
    let energy = |algorithm: &str, power: &str| {
        let keys = [("algorithm", algorithm), ("formulas", "repaired")];
        column(&table, power, &keys)
    };
    let (cre, glean) = (
        energy("cre", "energy_full_mj"),
        energy("glean", "energy_full_mj"),
    );
    assert_eq!(cre.len(), 2, "{table}");
    for baseline in [
        "random",
        "round-robin",
        "fednova",
        "channel-allocate",
        "importance-aware",
    ] {
        let (loud, soft) = (
            energy(baseline, "energy_full_mj"),
            energy(baseline, "energy_least_mj"),
        );
        for cell in 0..2 {
            assert!(cre[cell] < loud[cell], "{baseline}: {cre:?} {loud:?}");
            assert!(soft[cell] < loud[cell], "{baseline}: {soft:?} {loud:?}");
            assert!(glean[cell] < soft[cell], "{baseline}: {glean:?} {soft:?}");
        }
    }
    // More weight on learning spends more.
    let over_v = String::from_utf8(whole["fig-v.csv"].clone()).unwrap();
    let spent = |v: &str| {
        let keys = [("v", v), ("formulas", "repaired"), ("algorithm", "cre")];
        column(&over_v, "energy_full_mj", &keys)[0]
    };
    assert!(spent("0.001") < spent("10"), "{over_v}");

    // Nothing is settled at this size, and nothing is said of what was not run.
    let json: serde_json::Value = serde_json::from_slice(&whole["reproduction.json"]).unwrap();
    let claims = json["claims"].as_array().unwrap();
    assert!(claims.len() > 60, "{}", claims.len());
    assert!(
        claims
            .iter()
            .all(|claim| claim["verdict"] == "not-testable")
    );
    let page = String::from_utf8(whole["report.html"].clone()).unwrap();
    assert!(page.contains("CNN on CIFAR-10: not run at this scale"));
    assert!(page.contains("It settles no claim."));
    assert!(!page.contains("href=") && !page.contains("src="));
    // Every run of every exhibit is named, with its scenario and its result.
    let runs = String::from_utf8(whole["runs.csv"].clone()).unwrap();
    for line in runs.lines().skip(1) {
        let row: Vec<&str> = line.split(',').collect();
        let scenario = out.join("points").join(row[5]).join("scenario.toml");
        assert!(scenario.is_file(), "{line}");
        assert_eq!(row[6].len(), 64, "{line}");
    }

    // Again: nothing is run, the same bytes come out, also elsewhere and on one thread.
    let made = completions(&out);
    let elsewhere = folder.path().join("published");
    let publish = ["--threads", "1", "--publish", elsewhere.to_str().unwrap()];
    succeed(&mut reproduce(&out, &publish));
    assert_eq!(completions(&out), made);
    assert_eq!(files(&out), whole);
    assert_eq!(files(&elsewhere), whole);

    // Killed when some runs are there and one is not: the rest is made, to the same bytes.
    let broken = folder.path().join("broken");
    let mut child = reproduce(&broken, &["--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let some = || fs::read_dir(broken.join("points")).map_or(0, Iterator::count);
    while some() < made.len() / 3 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let early = completions(&broken);
    assert!(early.len() < made.len(), "the kill came too late");
    // What is there can be looked at in between.
    succeed(&mut reproduce(&broken, &["--gather", "--quiet"]));
    assert_eq!(completions(&broken), early);
    succeed(&mut reproduce(&broken, &["--quiet"]));
    let later = completions(&broken);
    assert!(early.iter().all(|(run, at)| later[run] == *at));
    assert_eq!(files(&broken), whole);

    // A run that was changed afterwards is named, and no page is made of it.
    let run = broken.join("points").join(made.keys().next().unwrap());
    let log = run.join("rounds.jsonl");
    let text = fs::read_to_string(&log)
        .unwrap()
        .replacen("\"round\":3", "\"round\":4", 1);
    fs::write(&log, text).unwrap();
    let refused = reproduce(&broken, &["--gather"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        why.contains("rounds.jsonl") && why.contains("remove"),
        "{why}"
    );
}

#[test]
fn an_unknown_exhibit_is_refused_with_a_list_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let refused = reproduce(folder.path(), &["--only", "fig-9"])
        .output()
        .unwrap();
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    assert!(
        why.contains("fig-9") && why.contains("table-accuracy-mnist"),
        "{why}"
    );
}
