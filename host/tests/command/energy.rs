//! `gleaner energy`: traces without a meter are written and read back, and invalid ones are refused.

use std::fs;

use serde_json::Value;

use crate::support::{Folder, Run};

const PROFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/profile.toml");

fn json(folder: &Folder, words: &str) -> Value {
    folder.succeed(&format!("energy {words} --json")).json()
}

#[test]
fn a_synthetic_trace_is_imported_with_its_own_energy() {
    let folder = Folder::new();
    let made = json(&folder, "synth --out a --rounds 1 --csv --raw");
    let energy_j = made["energy_j"].as_f64().unwrap();
    for source in [
        "a/trace.ppk2 --out b.ppk2 --pack",
        "a/trace.csv --voltage 3.3 --out c.ppk2",
        "a/trace.raw --format ppk2-raw --voltage 3.3",
        "b.ppk2",
        "c.ppk2",
    ] {
        let found = json(&folder, &format!("import {source}"));
        assert_eq!(found["samples"], made["samples"], "{source}");
        assert_eq!(found["pins_moved"], 7, "{source}");
        let off = found["energy_j"].as_f64().unwrap() / energy_j - 1.0;
        assert!(off.abs() < 1e-3, "{source}: {off:e}");
        let charge_c = found["charge_c"].as_f64().unwrap();
        assert!((charge_c * 3.3 / energy_j - 1.0).abs() < 1e-3, "{source}");
    }
    // The written profile and marks give the same trace again.
    let again = "synth --out again --profile a/truth.toml --marks a/marks.jsonl";
    json(&folder, again);
    for name in ["trace.ppk2", "marks.jsonl", "truth.toml"] {
        let file = |run: &str| fs::read(folder.path(run).join(name)).unwrap();
        assert!(file("a") == file("again"), "{name}");
    }
}

#[test]
fn lost_samples_are_counted_and_nothing_is_written() {
    let folder = Folder::new();
    json(&folder, "synth --out a --rounds 1 --gaps 3 --csv --raw");
    for source in ["trace.ppk2", "trace.csv", "trace.raw --format ppk2-raw"] {
        let words = format!("energy import a/{source} --voltage 3.3 --out out.ppk2");
        folder.fail_naming(&words, "3 gaps");
    }
    assert_eq!(folder.names(""), ["a"]);
}

#[test]
fn existing_files_are_never_overwritten_and_invalid_input_is_named() {
    let folder = Folder::new();
    json(&folder, "synth --out a --rounds 4 --no-pins");
    folder.write("bad.toml", "voltage_v = 3.3");
    let files = "a/trace.ppk2 a/marks.jsonl";
    let before = fs::read(folder.path("a/trace.ppk2")).unwrap();
    for (words, token) in [
        ("synth --out a --rounds 1", "truth.toml"),
        ("import a/trace.ppk2 --out a/trace.ppk2", "a/trace.ppk2"),
        ("synth --out b --profile bad.toml", "bad.toml"),
        ("synth --out b --noise 7", "noise = 7"),
        ("synth --out b --marks a/truth.toml", "a/truth.toml, line 1"),
        ("import none.ppk2", "none.ppk2"),
        (&format!("align {files} --by pins"), "logic channels"),
        (&format!("fit {files} --out a/marks.jsonl"), "marks.jsonl"),
        (&format!("report {files} --out a/trace.ppk2"), "trace.ppk2"),
    ] {
        folder.fail_naming(&format!("energy {words}"), token);
    }
    assert!(before == fs::read(folder.path("a/trace.ppk2")).unwrap());
    assert_eq!(folder.names(""), ["a", "bad.toml"]);
    let aligned = json(&folder, &format!("align {files}"));
    assert_eq!(aligned["method"], "power");

    if cfg!(target_os = "linux") {
        let import = folder.gleaner("energy import a/trace.ppk2 --out b.ppk2");
        assert!(import.limited(200).fail(1).contains("b.ppk2"));
        assert_eq!(folder.names(""), ["a", "bad.toml"]);
    }
}

#[test]
fn a_fit_of_a_synthetic_trace_returns_its_profile() {
    let folder = Folder::new();
    json(&folder, "synth --out a --rounds 4");
    let files = "a/trace.ppk2 a/marks.jsonl";
    let aligned = json(&folder, &format!("align {files} --out a.csv"));
    assert_eq!(aligned["method"], "pins");
    assert!((aligned["drift_ppm"].as_f64().unwrap() - 50.0).abs() < 5.0);
    assert_eq!(folder.read("a.csv").lines().count(), 1 + 3 * 4 * 8 + 1);

    let fitted = json(&folder, &format!("fit {files}"));
    let sleep = &fitted["coefficients"][0];
    assert_eq!(sleep["name"], "sleep");
    assert!((sleep["value"].as_f64().unwrap() / 1e-3 - 1.0).abs() < 0.01);
    assert_eq!(fitted["exponent"]["square_rejected"], false);
    let profile = folder.read("profile.toml");
    assert!(profile.contains("synthetic = true") && profile.contains("emulated = true"));

    folder.succeed(&format!("energy report {files} --out page.html"));
    let page = folder.read("page.html");
    assert!(page.contains("133 MHz") && !page.contains("NaN"));
}

#[test]
fn rounds_per_day_follow_from_profile_harvest_and_store() {
    let folder = Folder::new();
    fs::copy(PROFILE, folder.path("p.toml")).unwrap();
    let predict = "predict --profile p.toml --samples 100 --store-j 20";
    let found = |more: &str| json(&folder, &format!("{predict} --harvest-mw {more}"));
    let (none, few, many) = (found("0.1"), found("2"), found("9 --out c"));
    let rounds = |found: &Value| found["rounds_a_day"].as_f64().unwrap();
    assert_eq!(rounds(&none), 0.0);
    assert!(rounds(&few) > 0.0 && rounds(&many) > 3.0 * rounds(&few));
    assert!(many["low"].as_f64() <= many["rounds_a_day"].as_f64());
    assert_eq!(folder.read("c.csv").lines().count(), 26);
    assert!(folder.exists("c.svg"));
    for (words, token) in [
        ("--harvest-mw=-1", "--harvest-mw -1"),
        ("--harvest-mw 1 --clock-mhz 500", "500"),
        (
            "--harvest-mw 1 --charge-efficiency 2",
            "--charge-efficiency 2",
        ),
        ("--trace none.csv", "none.csv"),
    ] {
        folder.fail_naming(&format!("energy {predict} {words}"), token);
    }
}

#[test]
fn a_run_with_a_profile_keeps_it_and_plots_its_uncertainty() {
    let folder = Folder::new();
    fs::copy(PROFILE, folder.path("p.toml")).unwrap();
    let simulate = |clock: &str| {
        // Few epochs fit into a round.
        format!(
            "simulate -q --rounds 2 --scheduler round-robin --set partition.mean_samples=30 \
             --set device.cycles_per_sample=6e4 --set device.deadline_s=0.1 --profile p.toml \
             --set device.frequency_hz={clock} --out run-{clock}"
        )
    };
    folder.succeed(&simulate("90e6"));
    let kept = folder.read("run-90e6/profile.toml");
    assert_eq!(kept, fs::read_to_string(PROFILE).unwrap());
    let page = folder.read("run-90e6/report.html");
    assert!(page.contains("200 profiles") && page.contains("<polygon"));
    folder.fail_naming(&simulate("5e8"), "500 MHz");
}
