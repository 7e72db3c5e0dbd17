//! `gleaner fleet rekey` as a program: who was rekeyed and who was not, for people and for programs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Three boards, none of them reachable: one that is emulated for each run, one without a key, one
/// where nobody listens.
const FLEET: &str = r#"# The lab.
[[client]]
name = "emulated"
id = 0
link = "emulated"
chip = "m4"
key = "0909090909090909090909090909090909090909090909090909090909090909" # ours

[[client]]
name = "open"
id = 1
link = "tcp"
address = "127.0.0.1:1"

[[client]]
name = "away"
id = 2
link = "tcp"
address = "127.0.0.1:2"
key = "0808080808080808080808080808080808080808080808080808080808080808"

[[client]]
name = "simulated"
id = 3
link = "simulated"
"#;

fn rekey(list: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(["fleet", "rekey", "--patience-s", "1", "--fleet"])
        .arg(list)
        .args(options)
        .output()
        .expect("the binary runs")
}

#[test]
fn every_board_is_named_and_those_that_were_not_rekeyed_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("fleet.toml");
    fs::write(&list, FLEET).unwrap();
    let output = rekey(&list, &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let outcomes: Value = serde_json::from_slice(&output.stdout).unwrap();
    let said: Vec<_> = outcomes.as_array().unwrap().iter().collect();
    let told = |at: usize, field: &str| said[at][field].clone();
    assert_eq!(said.len(), 3, "simulated clients are no boards");
    assert_eq!(
        (told(0, "name"), told(0, "rekeyed")),
        ("emulated".into(), true.into())
    );
    assert_eq!(
        (told(1, "name"), told(1, "rekeyed")),
        ("open".into(), false.into())
    );
    let reason = told(1, "reason").to_string();
    assert!(
        reason.contains("no key") && reason.contains("gleaner flash"),
        "{reason}"
    );
    assert_eq!(
        (told(2, "client"), told(2, "rekeyed")),
        (2.into(), false.into())
    );
    let reason = told(2, "reason").to_string();
    assert!(
        reason.contains("refused") && reason.contains("again"),
        "{reason}"
    );
    let text = fs::read_to_string(&list).unwrap();
    let [head, tail] = ["# The lab.", "08080808"];
    assert!(
        text.contains(head) && text.contains(tail) && text.contains("# ours"),
        "{text}"
    );
    assert!(
        !text.contains("09090909") && !text.contains("next_key"),
        "{text}"
    );
    // No key is ever shown.
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!shown.contains("0808"), "{shown}");
}

#[test]
fn a_board_is_chosen_by_name_and_an_unknown_name_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("fleet.toml");
    fs::write(&list, FLEET).unwrap();
    let output = rekey(&list, &["--board", "emulated", "--board", "emulate"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("\"emulate\"") && message.contains("away"),
        "{message}"
    );
    assert_eq!(fs::read_to_string(&list).unwrap(), FLEET);
    let output = rekey(&list, &["--board", "emulated"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("emulated  rekeyed"), "{text}");
}
