//! `gleaner energy` as a user types it: traces without a meter go out and come back, and what is
//! wrong with one is said with exit code 1.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn energy(words: &str, folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .arg("energy")
        .args(words.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap()
}

fn json(words: &str, folder: &Path) -> Value {
    let output = energy(words, folder);
    assert!(output.status.success(), "{words}: {}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn refused(words: &str, folder: &Path) -> String {
    let output = energy(words, folder);
    let message = said(&output);
    assert_eq!(output.status.code(), Some(1), "{words}: {message}");
    assert!(!message.contains("panicked"), "{message}");
    message
}

#[test]
fn a_synthetic_trace_comes_back_with_the_energy_it_was_made_of() {
    let folder = tempfile::tempdir().unwrap();
    let made = json("synth --out a --rounds 1 --csv --raw --json", folder.path());
    let energy_j = made["energy_j"].as_f64().unwrap();
    for source in [
        "a/trace.ppk2 --out b.ppk2 --pack",
        "a/trace.csv --voltage 3.3 --out c.ppk2",
        "a/trace.raw --format ppk2-raw --voltage 3.3",
        "b.ppk2",
        "c.ppk2",
    ] {
        let found = json(&format!("import {source} --json"), folder.path());
        assert_eq!(found["samples"], made["samples"], "{source}");
        assert_eq!(found["pins_moved"], 7, "{source}");
        let off = found["energy_j"].as_f64().unwrap() / energy_j - 1.0;
        assert!(off.abs() < 1e-3, "{source}: {off:e}");
        let charge_c = found["charge_c"].as_f64().unwrap();
        assert!((charge_c * 3.3 / energy_j - 1.0).abs() < 1e-3, "{source}");
    }
    // The truth and the marks that were written make the same trace again.
    let again = "synth --out again --profile a/truth.toml --marks a/marks.jsonl --json";
    json(again, folder.path());
    for name in ["trace.ppk2", "marks.jsonl", "truth.toml"] {
        let file = |run: &str| fs::read(folder.path().join(run).join(name)).unwrap();
        assert!(file("a") == file("again"), "{name}");
    }
}

#[test]
fn lost_samples_are_told_with_their_places_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    json(
        "synth --out a --rounds 1 --gaps 3 --csv --raw --json",
        folder.path(),
    );
    for source in ["trace.ppk2", "trace.csv", "trace.raw --format ppk2-raw"] {
        let words = format!("import a/{source} --voltage 3.3 --out out.ppk2");
        let message = refused(&words, folder.path());
        assert_eq!(message.matches("missing").count(), 4, "{message}");
        assert!(message.contains("3 gaps"), "{message}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn traces_are_never_overwritten_and_bad_input_is_named() {
    let folder = tempfile::tempdir().unwrap();
    json("synth --out a --rounds 1 --json", folder.path());
    let again = refused("synth --out a --rounds 1", folder.path());
    assert!(again.contains("truth.toml exists"), "{again}");
    let out = refused("import a/trace.ppk2 --out a/trace.ppk2", folder.path());
    assert!(out.contains("is not overwritten"), "{out}");
    fs::write(folder.path().join("bad.toml"), "voltage_v = 3.3").unwrap();
    let profile = refused("synth --out b --profile bad.toml", folder.path());
    assert!(
        profile.contains("bad.toml") && profile.contains("power_w"),
        "{profile}"
    );
    let noise = refused("synth --out b --noise 7", folder.path());
    assert!(noise.contains("noise = 7"), "{noise}");
    let marks = refused("synth --out b --marks a/truth.toml", folder.path());
    assert!(marks.contains("a/truth.toml, line 1"), "{marks}");
    assert!(!folder.path().join("b").exists());
    let nowhere = refused("import none.ppk2", folder.path());
    assert!(nowhere.contains("none.ppk2"), "{nowhere}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_half_of_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    json("synth --out a --rounds 1 --json", folder.path());
    let output = Command::new("sh")
        .arg("-c")
        // A file that may not grow is an error then, not the end of the process.
        .arg("trap '' XFSZ; ulimit -f 200; exec \"$0\" energy import a/trace.ppk2 --out b.ppk2")
        .arg(env!("CARGO_BIN_EXE_gleaner"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("b.ppk2"), "{}", said(&output));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// Makes a measurement in `folder/a` and returns the words that name it.
fn measurement(folder: &Path, more: &str) -> &'static str {
    json(&format!("synth --out a --rounds 4 --json {more}"), folder);
    "a/trace.ppk2 a/marks.jsonl"
}

#[test]
fn a_synthetic_trace_gives_its_profile_back_and_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let files = measurement(folder.path(), "");
    let aligned = json(&format!("align {files} --out a.csv --json"), folder.path());
    assert_eq!(aligned["method"], "pins");
    assert!((aligned["drift_ppm"].as_f64().unwrap() - 50.0).abs() < 5.0);
    let lines = fs::read_to_string(folder.path().join("a.csv")).unwrap();
    assert_eq!(lines.lines().count(), 1 + 3 * 4 * 8 + 1);

    let fitted = json(&format!("fit {files} --json"), folder.path());
    let sleep = &fitted["coefficients"][0];
    assert_eq!(sleep["name"], "sleep");
    assert!((sleep["value"].as_f64().unwrap() / 1e-3 - 1.0).abs() < 0.01);
    assert_eq!(fitted["exponent"]["square_rejected"], false);
    let profile = fs::read_to_string(folder.path().join("profile.toml")).unwrap();
    assert!(profile.contains("synthetic = true") && profile.contains("emulated = true"));

    let shown = energy(&format!("report {files} --out page.html"), folder.path());
    assert!(shown.status.success(), "{}", said(&shown));
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    for words in [
        "is not rejected at 5 %",
        "Energy by phase",
        "cycle at 133 MHz",
        "synthetic trace",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("NaN"));
}

#[test]
fn rounds_a_day_follow_from_profile_income_and_store() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/profile.toml"),
        folder.path().join("p.toml"),
    )
    .unwrap();
    let predict = "predict --profile p.toml --samples 100 --store-j 20";
    let few = json(&format!("{predict} --harvest-mw 2 --json"), folder.path());
    let many = json(
        &format!("{predict} --harvest-mw 9 --json --out c"),
        folder.path(),
    );
    let rounds = |found: &Value| found["rounds_a_day"].as_f64().unwrap();
    assert!(rounds(&few) > 0.0 && rounds(&many) > 3.0 * rounds(&few));
    assert!(many["low"].as_f64() <= many["rounds_a_day"].as_f64());
    let curve = fs::read_to_string(folder.path().join("c.csv")).unwrap();
    assert_eq!(curve.lines().count(), 26);
    assert!(folder.path().join("c.svg").is_file());
    let none = json(&format!("{predict} --harvest-mw 0.1 --json"), folder.path());
    assert!(rounds(&none) == 0.0);
    for (words, reason) in [
        ("--harvest-mw=-1", "--harvest-mw -1"),
        (
            "--harvest-mw 1 --clock-mhz 500",
            "outside what the profile measured",
        ),
        (
            "--harvest-mw 1 --charge-efficiency 2",
            "--charge-efficiency 2",
        ),
        ("--trace none.csv", "none.csv"),
    ] {
        let message = refused(&format!("{predict} {words}"), folder.path());
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn what_cannot_be_aligned_or_fitted_is_refused_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let files = measurement(folder.path(), "--no-pins");
    let message = refused(&format!("align {files} --by pins"), folder.path());
    assert!(message.contains("no logic channels"), "{message}");
    let aligned = json(&format!("align {files} --json"), folder.path());
    assert_eq!(aligned["method"], "power");
    let message = refused(&format!("fit {files} --out a/marks.jsonl"), folder.path());
    assert!(message.contains("another file"), "{message}");
    let message = refused(&format!("report {files} --out a/trace.ppk2"), folder.path());
    assert!(message.contains("another file"), "{message}");
}

#[test]
fn a_run_with_a_profile_books_its_costs_and_draws_what_it_does_not_know() {
    let folder = tempfile::tempdir().unwrap();
    let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/profile.toml");
    let simulate = |clock: &str, out: &str| {
        Command::new(env!("CARGO_BIN_EXE_gleaner"))
            .args([
                "simulate",
                "-q",
                "--rounds",
                "2",
                "--scheduler",
                "round-robin",
            ])
            .args(["--set", "partition.mean_samples=30", "--set", clock])
            // Some epochs fit into a round, not thousands.
            .args(["--set", "device.cycles_per_sample=6e4"])
            .args(["--set", "device.deadline_s=0.1"])
            .args(["--profile", profile, "--out"])
            .arg(folder.path().join(out))
            .output()
            .unwrap()
    };
    let made = simulate("device.frequency_hz=90e6", "run");
    assert!(made.status.success(), "{}", said(&made));
    let kept = fs::read_to_string(folder.path().join("run/profile.toml")).unwrap();
    assert_eq!(kept, fs::read_to_string(profile).unwrap());
    let page = fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(page.contains("95 % of 200 profiles") && page.contains("<polygon"));
    let refused = simulate("device.frequency_hz=5e8", "other");
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        said(&refused).contains("500 MHz is outside"),
        "{}",
        said(&refused)
    );
}
