//! A trace gives the run again that was recorded in it.

use std::fs;

use super::{FIXED, Folder, SMALL, TRACED, refused, succeed};

#[test]
fn a_recorded_run_is_made_again_from_its_trace_byte_for_byte() {
    for (name, more) in [("float", &[][..]), ("fixed", &FIXED[..])] {
        let folder = Folder::new(name);
        let gains = folder.record(more);
        assert_eq!(gains.lines().count(), 1 + 6 * 10 * 4, "rounds 0 to 5");
        let mut traced = folder.simulate("traced", &TRACED);
        // Nothing of the drawn channel counts any more.
        traced.args(["--set", "channel.radius_m=5000"]).args(more);
        succeed(traced.args(["--record-channel", "again.csv"]));
        assert_eq!(folder.results("traced"), folder.results("drawn"), "{name}");
        assert_eq!(folder.read("again.csv"), gains, "{name}");
        assert_eq!(folder.read("traced/channel.csv"), gains, "{name}");
        assert!(folder.read("traced/SHA256SUMS").contains("  channel.csv\n"));
    }
}

#[test]
fn another_channel_makes_another_run() {
    let folder = Folder::new("other");
    let gains = folder.record(&[]);
    fs::write(folder.join("gains.csv"), gains.replace(",-", ",-1")).unwrap();
    succeed(&mut folder.simulate("traced", &TRACED));
    assert_ne!(folder.results("traced"), folder.results("drawn"));
}

#[test]
fn rows_in_any_order_with_what_spreadsheets_add_are_the_same_trace() {
    let folder = Folder::new("spreadsheet");
    let gains = folder.record(&[]);
    let mut lines = gains.lines();
    let mut text = format!("\u{feff}{}\r\n\r\n", lines.next().unwrap());
    for line in lines.rev() {
        text.push_str(&format!("\"{}\"\r\n", line.replace(',', "\",\"")));
    }
    fs::write(folder.join("gains.csv"), text + "9,0,0,-60\r\n\r\n").unwrap();
    succeed(&mut folder.simulate("traced", &TRACED));
    assert_eq!(folder.results("traced"), folder.results("drawn"));
}

#[test]
fn a_run_over_lines_is_recorded_replayed_from_a_trace_and_verified() {
    let folder = Folder::new("lines");
    let list: String = (0..3)
        .map(|id| format!("[[client]]\nname = \"c{id}\"\nid = {id}\nlink = \"simulated\"\n"))
        .collect();
    fs::write(folder.join("fleet.toml"), list).unwrap();
    let run = |more: &[&str]| {
        let mut gleaner = folder.gleaner("run", &SMALL);
        gleaner.args(["--quiet", "--plain"]).args(more);
        gleaner
    };
    succeed(&mut run(&[
        "--out",
        "drawn",
        "--record-channel",
        "gains.csv",
    ]));
    succeed(run(&["--out", "traced"]).args(TRACED));
    assert_eq!(folder.results("traced"), folder.results("drawn"));
    // The verdict rests on the copy.
    fs::remove_file(folder.join("gains.csv")).unwrap();
    succeed(&mut folder.gleaner("verify", &["traced"]));
    let said = refused(run(&["--out", "gone"]).args(TRACED));
    assert!(said.contains("gains.csv"), "{said}");
    assert!(!folder.join("gone").exists());
}
