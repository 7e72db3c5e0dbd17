//! `gleaner compare --track` from the command line to its files, and again without a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

const SMALL: [&str; 10] = [
    "--set",
    "partition.mean_samples=40",
    "--set",
    "partition.std_samples=4",
    "--set",
    "data.test_samples=50",
    "--set",
    "device.cycles_per_sample=2000",
    "--rounds",
    "4",
];

fn track(out: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(["compare", "--track", "--out"])
        .arg(out)
        .args(SMALL)
        .args(more)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns when every run in a directory was completed.
fn completions(out: &Path) -> Vec<(PathBuf, SystemTime)> {
    let runs = fs::read_dir(out.join("points")).unwrap();
    let mut completed: Vec<(PathBuf, SystemTime)> = runs
        .map(|entry| {
            let sums = entry.unwrap().path().join("SHA256SUMS");
            let made = fs::metadata(&sums).unwrap().modified().unwrap();
            (sums, made)
        })
        .collect();
    completed.sort();
    completed
}

#[test]
fn a_benchmark_is_executed_once_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = [
        "--schedulers",
        "random,glean",
        "--seeds",
        "2",
        "--tuning-seeds",
        "1",
        "--rates",
        "0.01,0.3",
        "--steps",
        "0.08,0.16",
        "--cells",
        "d=0.2,0.6",
    ];
    let first = track(&out, &arguments);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let said = text(&first.stdout);
    assert!(
        said.starts_with("Part (a) differs in the server's step too"),
        "{said}"
    );
    assert!(
        said.contains("validation accuracy % by server.step"),
        "{said}"
    );
    for part in [
        "(a) against plain",
        "(b) against spectral",
        "(c) against plain",
    ] {
        let line = said.lines().find(|line| line.starts_with(part));
        assert!(
            line.is_some_and(|line| line.contains(" of 2, on energy in ")),
            "{part}: {said}"
        );
    }

    let page = fs::read_to_string(out.join("report.html")).unwrap();
    let (sentence, svg) = (page.find("compares schedulers alone"), page.find("<svg"));
    assert!(sentence.is_some() && sentence < svg);
    for name in ["energy-a-d0.2", "energy-b-d0.6", "trade-off-c-d0.2"] {
        assert!(
            out.join("plots").join(format!("{name}.svg")).exists(),
            "{name}"
        );
    }
    let markdown = fs::read_to_string(out.join("track.md")).unwrap();
    assert!(markdown.contains("### Ranking"), "{markdown}");
    // (a): two powers and glean; (b): two; (c): random with either server, and glean.
    let csv = fs::read_to_string(out.join("track.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + (3 + 2 + 3) * 2 * 2, "{csv}");
    assert!(csv.starts_with("part,cell,scheduler,power,server,tuned,seed,final_accuracy"));
    assert!(
        csv.contains("\nb,d=0.6,random,least-energy,spectral,,1,"),
        "{csv}"
    );
    let json = fs::read_to_string(out.join("track.json")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    // Tuned once, in the middle cell, for both.
    assert_eq!(value["choices"].as_array().unwrap().len(), 3);
    assert_eq!(value["choices"][0]["cell"], "d=0.6");
    assert_eq!(value["choices"][0]["scores"].as_array().unwrap().len(), 2);
    assert_eq!(value["bootstrap"]["resamples"], 10_000);

    // Again: nothing is run, the same comes out, on other threads too.
    let complete = completions(&out);
    let again = track(
        &out,
        &[&arguments[..], &["--json", "--threads", "1"]].concat(),
    );
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert_eq!(completions(&out), complete);
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&again.stdout).unwrap(),
        value
    );

    // A run that was lost is executed again, and only that one.
    let lost = complete[0].0.parent().unwrap();
    fs::remove_dir_all(lost).unwrap();
    let third = track(&out, &arguments);
    assert_eq!(text(&third.stdout), said);
    assert_eq!(completions(&out)[1..], complete[1..]);
    assert_eq!(fs::read_to_string(out.join("track.json")).unwrap(), json);
}

#[test]
fn wrong_rules_are_refused_before_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for (arguments, said) in [
        (&["--cells", "d"][..], "`d` has no `=`"),
        (&["--cells", "dd=1"], "unknown key `dd`"),
        (&["--parts", "a,x"], "`x` is not one of a, b, c"),
        (&["--rates", "0.1,-1"], "`-1` is not a positive number"),
        (&["--seed", "98"], "(100 to 104)"),
        (&["--record-channel", "gains.csv"], "cannot be used with"),
    ] {
        let refused = track(&out, arguments);
        let stderr = text(&refused.stderr);
        assert!(
            !refused.status.success() && stderr.contains(said),
            "{arguments:?}: {stderr}"
        );
    }
    assert!(!out.exists());
    let lone = Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(["compare", "--cells", "paper"])
        .output()
        .unwrap();
    assert!(
        text(&lone.stderr).contains("--track"),
        "{}",
        text(&lone.stderr)
    );
}
