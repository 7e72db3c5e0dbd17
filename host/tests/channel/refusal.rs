//! Traces that do not fit, and places where no trace can be written.

use std::fs;

use super::{FIXED, Folder, SMALL, TRACED, names, refused, succeed};

#[test]
fn a_trace_that_does_not_cover_the_run_is_refused_before_there_is_one() {
    let folder = Folder::new("gaps");
    let gains = folder.record(&[]);
    let without = |entry: &str| {
        let lines = gains.lines().filter(|line| !line.starts_with(entry));
        lines.collect::<Vec<_>>().join("\n")
    };
    for (entry, named, more) in [
        ("5,", "round 5, client 0, channel 0", &[][..]),
        ("3,7,", "round 3, client 7, channel 0", &[]),
        ("4,9,3,", "round 4, client 9, channel 3", &[]),
        ("0,", "round 0, client 0, channel 0", &FIXED),
        (
            "-",
            "round 1, client 0, channel 4",
            &["--set", "radio.channels=4"],
        ),
        (
            "-",
            "round 1, client 10, channel 0",
            &["--set", "clients.count=11"],
        ),
        ("-", "round 6, client 0, channel 0", &["--rounds", "7"]),
    ] {
        fs::write(folder.join("gains.csv"), without(entry)).unwrap();
        let mut traced = folder.gleaner("simulate", &SMALL[2..]);
        let rounds = match more {
            ["--rounds", ..] => &[][..],
            _ => &SMALL[..2],
        };
        traced.args(["--out", "traced"]).args(TRACED);
        let said = refused(traced.args(rounds).args(more));
        assert!(said.contains("gains.csv: no gain for"), "{said}");
        assert!(said.contains(named), "{said}");
        assert!(!folder.join("traced").exists(), "{named}");
    }
    // Without an introduction there is no round 0 to miss.
    fs::write(folder.join("gains.csv"), without("0,")).unwrap();
    succeed(&mut folder.simulate("traced", &TRACED));
    assert_eq!(folder.results("traced"), folder.results("drawn"));
}

#[test]
fn a_broken_trace_is_named_by_file_line_and_value_and_leaves_nothing_behind() {
    let folder = Folder::new("broken");
    let gains = folder.record(&[]);
    let header = "round,client,channel,gain_db";
    let broken = |row: &str| gains.replace(header, &format!("{header}\n{row}"));
    for (text, wanted) in [
        (broken("0,0,0,NaN"), "gains.csv:2: gain_db `NaN`"),
        (broken("0,0,0,inf"), "gains.csv:2: gain_db `inf`"),
        (broken("0,0,0,-inf"), "gains.csv:2: gain_db `-inf`"),
        (broken("0,0,-1,-60"), "gains.csv:2: channel `-1`"),
        (broken("4294967296,0,0,-60"), "gains.csv:2: round `42949"),
        (broken("1,0,0,-60"), "round 1, client 0, channel 0 given"),
        (gains.replace(header, "a,b"), "gains.csv:1: header `a,b`"),
        (String::new(), "gains.csv:1: header ``"),
    ] {
        fs::write(folder.join("gains.csv"), text).unwrap();
        let said = refused(&mut folder.simulate("traced", &TRACED));
        assert!(said.contains(wanted), "{said}");
        assert!(!folder.join("traced").exists(), "{wanted}");
    }
    for (path, wanted) in [
        ("drawn", "drawn: Is a directory"),
        ("nowhere.csv", "nowhere.csv: No such file"),
    ] {
        let trace = format!("channel.trace={path}");
        let said = refused(&mut folder.simulate("traced", &["--set", &trace]));
        assert!(said.contains(wanted) || !cfg!(unix), "{said}");
        assert!(!folder.join("traced").exists(), "{wanted}");
    }
}

#[test]
fn gains_are_not_written_over_anything_else_than_a_file() {
    let folder = Folder::new("places");
    let gains = folder.record(&[]);
    fs::create_dir(folder.join("folder")).unwrap();
    let before = names(&folder.0);
    for (file, more, wanted) in [
        ("folder", &[][..], "is not a file"),
        ("gains.csv", &TRACED, "is the trace that"),
        ("run/gains.csv", &[], "must be empty"),
        ("nowhere/gains.csv", &[], "nowhere/gains.csv"),
    ] {
        let mut simulate = folder.simulate("run", &["--record-channel", file]);
        let said = refused(simulate.args(more));
        assert!(said.contains(file) && said.contains(wanted), "{said}");
        assert_eq!(names(&folder.0), before, "{file}");
        assert_eq!(folder.read("gains.csv"), gains);
    }
    let other = ["--seed", "1", "--record-channel", "gains.csv"];
    assert!(refused(&mut folder.simulate("drawn", &other)).contains("is not empty"));
    assert_eq!(folder.read("gains.csv"), gains);
    if cfg!(unix) {
        let said = refused(&mut folder.simulate("run", &["--record-channel", "/dev/null"]));
        assert!(said.contains("is not a file"), "{said}");
    }
}

#[test]
fn gains_at_the_edge_of_numbers_end_in_a_whole_run_and_beyond_it_in_words() {
    let folder = Folder::new("edge");
    let gains = folder.record(&FIXED);
    for (gain_db, fits) in [("-3230", false), ("-3070", true), ("3080", true)] {
        let mut rows = gains.lines();
        let mut text = format!("{}\n", rows.next().unwrap());
        for (entry, _) in rows.filter_map(|row| row.rsplit_once(',')) {
            text.push_str(&format!("{entry},{gain_db}\n"));
        }
        fs::write(folder.join("gains.csv"), text).unwrap();
        let mut traced = folder.simulate(&format!("at{gain_db}"), &TRACED);
        traced.args(FIXED);
        if fits {
            succeed(&mut traced);
        } else {
            let said = refused(&mut traced);
            assert!(said.contains("not a finite, positive gain"), "{said}");
        }
    }
}
