//! `gleaner week` from the command line to its files, interrupted and widened.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn week(out: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args([
            "week",
            "--presets",
            "stm32l4r5-as-if-stop2",
            "--days",
            "0.1",
        ])
        .args(["--samples", "20", "--set", "data.test_samples=40", "--out"])
        .arg(out)
        .args(more)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_week_that_was_interrupted_and_widened_equals_the_week_executed_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (once, twice) = (folder.path().join("once"), folder.path().join("twice"));
    let whole = week(&once, &["--schedulers", "glean,ocean"]);
    assert!(whole.status.success(), "{}", text(&whole.stderr));
    let said = text(&whole.stdout);
    assert!(said.starts_with("stm32l4r5-as-if-stop2 on office-day-modelled: glean ends at "));

    let first = week(&twice, &["--schedulers", "ocean", "--quiet"]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    assert!(text(&first.stdout).contains("ocean leads with"));
    // As if the machine had been switched off before the run was complete.
    let run = fs::read_dir(twice.join("points"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::remove_file(run.join("SHA256SUMS")).unwrap();
    let rows = fs::read(run.join("rounds.jsonl")).unwrap();
    let second = week(&twice, &["--schedulers", "glean,ocean", "--threads", "1"]);
    assert!(second.status.success(), "{}", text(&second.stderr));
    assert_eq!(rows, fs::read(run.join("rounds.jsonl")).unwrap());
    for file in ["week.csv", "report.html"] {
        assert_eq!(
            fs::read_to_string(once.join(file)).unwrap(),
            fs::read_to_string(twice.join(file)).unwrap(),
            "{file}"
        );
    }
}

#[test]
fn wrong_settings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |more: &[&str]| {
        let output = week(folder.path(), more);
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = refused(&["--traces", "greensboro-summer-week"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("--traces"), "{said}");
    let (code, said) = refused(&["--samples", "0"]);
    assert_eq!(code, Some(2), "{said}");
    let (code, said) = refused(&["--schedulers", "best"]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("`best` is not one of") && said.contains("rivals"),
        "{said}"
    );
    assert!(!folder.path().join("week.csv").exists());
}
