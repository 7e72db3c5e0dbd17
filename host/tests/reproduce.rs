//! `gleaner reproduce --scale smoke` as a process: its files, a repetition without runs, a kill, a
//! damaged run, rows, and executions in pieces.

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

    // Rows of the complete runs: a reproduction without runs shows the same, and executes nothing.
    let rows = folder.path().join("rows");
    let with_rows = ["--quiet", "--rows", rows.to_str().unwrap()];
    succeed(reproduce(&out, &with_rows).arg("--gather"));
    assert_eq!(fs::read_dir(&rows).unwrap().count(), made.len());
    let fresh = folder.path().join("fresh");
    succeed(&mut reproduce(&fresh, &with_rows));
    assert!(!fresh.join("points").exists());
    assert_eq!(files(&fresh), whole);
    // Rows and runs mixed show the same too; only the run whose row is missing is executed.
    let first = rows.join(format!("{}.jsonl", made.keys().next().unwrap()));
    let row = fs::read_to_string(&first).unwrap();
    fs::remove_file(&first).unwrap();
    succeed(&mut reproduce(&fresh, &with_rows));
    assert_eq!(fs::read_dir(fresh.join("points")).unwrap().count(), 1);
    assert_eq!(files(&fresh), whole);
    // Its row was written again: the same but for version and processor time.
    let again = fs::read_to_string(&first).unwrap();
    assert_eq!(
        again.lines().skip(2).collect::<Vec<_>>(),
        row.lines().skip(2).collect::<Vec<_>>()
    );
    // Executed again, runs are as in their rows; a row with another digest is found.
    let verify = ["--verify-rows", "2", "--only", "fig-v", "--v", "10"];
    let said = succeed(reproduce(&fresh, &with_rows).args(verify));
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("2 of 2 runs as in the rows"), "{said}");

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

/// Arguments that choose one run, which takes a few hundred milliseconds.
const ONE: [&str; 10] = [
    "--only",
    "table-accuracy-mnist",
    "--scheduler",
    "cre",
    "--formulas",
    "repaired",
    "--cell",
    "d=0.4,sigma=100",
    "--seed",
    "1",
];

/// The row of the only run.
fn the_row(rows: &Path) -> Vec<String> {
    let mut entries = fs::read_dir(rows).unwrap();
    let path = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none());
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_run_in_pieces_of_a_few_milliseconds_ends_like_one_that_was_never_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let execute = |name: &str, more: &[&str]| {
        let mut command = reproduce(&at(name), &ONE);
        command.args(["--quiet", "--threads", "1", "--rows"]);
        command.arg(at(&format!("{name}-rows"))).args(more);
        command.output().unwrap()
    };
    assert!(execute("whole", &[]).status.success());
    let whole = the_row(&at("whole-rows"));

    let mut pieces = 0;
    loop {
        let output = execute("pieces", &["--minutes", "0.00001"]);
        let code = output.status.code();
        if code == Some(0) {
            break;
        }
        assert_eq!(code, Some(5), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!at("pieces-rows").exists());
        pieces += 1;
        assert!(pieces < 10, "no progress");
        let listed = execute("pieces", &["--list"]).stdout;
        let listed = String::from_utf8(listed).unwrap();
        assert!(listed.contains(&format!("round {pieces} ")), "{listed}");
    }
    // A piece of one round each; the last one ends with the run.
    assert_eq!(pieces, 9);
    let row = the_row(&at("pieces-rows"));
    assert_eq!(row[2..], whole[2..]);
    let [one, other] = [&whole[1], &row[1]].map(|line| {
        let mut json: serde_json::Value = serde_json::from_str(line).unwrap();
        let seconds = json["run"].as_object_mut().unwrap().remove("processor_s");
        if cfg!(target_os = "linux") {
            assert!(seconds.unwrap().as_f64().unwrap() > 0.0);
        }
        json
    });
    assert_eq!(one, other);
    assert_eq!(one["run"]["digest"].as_str().unwrap().len(), 64);
}

#[cfg(unix)]
#[test]
fn a_signal_stops_the_runs_at_a_checkpoint_and_the_next_execution_continues() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let only = [
        "--only",
        "table-accuracy-mnist",
        "--quiet",
        "--threads",
        "1",
    ];
    let child = reproduce(&out, &only)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while fs::read_dir(out.join("points")).map_or(0, Iterator::count) < 2 {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(143), "{said}");
    assert!(said.contains("continues"), "{said}");
    let early = completions(&out);
    assert!(!out.join("failed").exists());
    succeed(&mut reproduce(&out, &only));
    let later = completions(&out);
    assert!(early.len() < later.len());
    assert!(early.iter().all(|(run, at)| later[run] == *at));

    let (whole, rows) = (folder.path().join("whole"), folder.path().join("rows"));
    succeed(reproduce(&whole, &only).arg("--rows").arg(&rows));
    assert_eq!(files(&out), files(&whole));
    if cfg!(target_os = "linux") {
        // On one thread every run has a processor time of its own.
        for row in fs::read_dir(&rows).unwrap().map(Result::unwrap) {
            let row = fs::read_to_string(row.path()).unwrap();
            let run: serde_json::Value = serde_json::from_str(row.lines().nth(1).unwrap()).unwrap();
            assert!(run["run"]["processor_s"].as_f64().unwrap() > 0.0, "{run}");
        }
    }
}

#[test]
fn a_damaged_row_is_refused_with_its_name_and_a_stale_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (out, rows) = (folder.path().join("out"), folder.path().join("rows"));
    let with_rows = || {
        let mut command = reproduce(&out, &ONE);
        command.args(["--quiet", "--list", "--rows"]).arg(&rows);
        command
    };
    let mut execute = reproduce(&out, &ONE);
    succeed(execute.args(["--quiet", "--rows"]).arg(&rows));
    let path = fs::read_dir(&rows).unwrap().next().unwrap().unwrap().path();
    let listed = String::from_utf8(succeed(&mut with_rows()).stdout).unwrap();
    assert!(
        listed.contains("  row ") && listed.contains("1 run, 0 not complete"),
        "{listed}"
    );

    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("0.", "1.", 1)).unwrap();
    let refused = with_rows().output().unwrap();
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{why}");
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(why.contains(name) && why.contains("delete it"), "{why}");
}
