//! `gleaner fleet rekey`: the result per board, as text and as JSON.

use crate::support::{Folder, Run};

/// Three boards, none of them reachable: emulated for each run, without a key, at a closed port.
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
const REKEY: &str = "fleet rekey --patience-s 1";

#[test]
fn every_board_is_listed_with_its_result_and_no_key_is_printed() {
    let folder = Folder::new();
    folder.write("fleet.toml", FLEET);
    let output = folder.gleaner(REKEY).arg("--json").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let boards: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = [("emulated", true), ("open", false), ("away", false)];
    let boards = boards.as_array().unwrap();
    assert_eq!(
        boards.len(),
        expected.len(),
        "simulated clients are no boards"
    );
    for (board, (name, rekeyed)) in boards.iter().zip(expected) {
        assert_eq!(
            (&board["name"], &board["rekeyed"]),
            (&name.into(), &rekeyed.into())
        );
        assert_eq!(board["reason"].is_string(), !rekeyed, "{board}");
    }
    let text = folder.read("fleet.toml");
    for kept in ["# The lab.", "08080808", "# ours"] {
        assert!(text.contains(kept), "{text}");
    }
    assert!(
        !text.contains("09090909") && !text.contains("next_key"),
        "{text}"
    );
    assert!(!String::from_utf8_lossy(&output.stdout).contains("0808"));
}

#[test]
fn a_board_is_chosen_by_name_and_an_unknown_name_changes_nothing() {
    let folder = Folder::new();
    folder.write("fleet.toml", FLEET);
    let unknown = format!("{REKEY} --board emulated --board emulate");
    folder.fail_naming(&unknown, "\"emulate\"");
    assert_eq!(folder.read("fleet.toml"), FLEET);
    let text = folder
        .gleaner(REKEY)
        .args(["--board", "emulated"])
        .succeed();
    assert!(text.stdout.starts_with("emulated "), "{}", text.stdout);
    assert_ne!(folder.read("fleet.toml"), FLEET);
}
