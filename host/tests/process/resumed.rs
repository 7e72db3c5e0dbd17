//! A run under a program goes on where it was, with the state the program had.

use std::fs;
use std::process::Stdio;

use crate::support::{Script, digests, each, example, fail, gleaner, simulate, succeed};

#[test]
fn a_run_that_was_killed_ends_with_the_same_digests() {
    let Some(python) = example("python3", "thrifty.py") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let more = ["--rounds", "16", "--set", "run.checkpoint_every=1"];
    succeed(&mut simulate(at, "whole", &python, &more));
    let log = at.join("broken/rounds.jsonl");
    let length = fs::metadata(at.join("whole/rounds.jsonl")).unwrap().len();

    let mut child = simulate(at, "broken", &python, &more)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        if fs::metadata(&log).is_ok_and(|metadata| metadata.len() >= length / 2) {
            child.kill().unwrap();
        }
        std::thread::yield_now();
    }
    assert!(
        !at.join("broken/SHA256SUMS").exists(),
        "killed in the middle"
    );
    let resumed = succeed(&mut gleaner(at, &["resume", "broken", "--threads", "1"]));
    let said = String::from_utf8_lossy(&resumed.stderr);
    assert!(said.contains("continuing after round"), "{said}");
    assert_eq!(digests(&at.join("broken")), digests(&at.join("whole")));
}

/// One client after the other, by the round of the request; `$n` counts this session's.
fn in_turn(first: &str) -> String {
    let body = "r=${l#*\\\"round\\\":}; r=${r%%,*}\n\
                printf '{\"round\":%s,\"orders\":[{\"client\":%s,\"channel\":1,\"power_w\":0.19,\
                \"epochs\":1}]}\\n' $r $((r % 10))";
    each(&format!("{first}\n{body}"))
}

#[test]
fn a_scheduler_that_failed_is_mended_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let script = Script::new(&in_turn(""));
    let decider = script.decider();
    let more = ["--rounds", "12", "--set", "run.checkpoint_every=10"];
    succeed(&mut simulate(at, "whole", &decider, &more));

    script.write(&in_turn("[ $n = 7 ] && { echo no plan >&2; exit 5; }"));
    let said = fail(&mut simulate(at, "broken", &decider, &more));
    for words in [
        "round 7: scheduler `sh ",
        "exit status: 5",
        "no plan",
        "`gleaner resume broken` continues",
    ] {
        assert!(said.contains(words), "{said}");
    }
    // Still broken: it fails again, and loses nothing.
    script.write("exit 4");
    let said = fail(&mut gleaner(at, &["resume", "broken"]));
    assert!(said.contains("continuing after round 6"), "{said}");
    assert!(
        said.contains("round 7: ") && said.contains("exit status: 4"),
        "{said}"
    );

    script.write(&in_turn(""));
    let resumed = succeed(&mut gleaner(at, &["resume", "broken"]));
    let said = String::from_utf8_lossy(&resumed.stderr);
    assert!(said.contains("continuing after round 6"), "{said}");
    assert_eq!(digests(&at.join("broken")), digests(&at.join("whole")));

    let environment = fs::read_to_string(at.join("broken/environment.json")).unwrap();
    let environment: serde_json::Value = serde_json::from_str(&environment).unwrap();
    let files = &environment["scheduler"]["files"];
    assert_eq!(files[0]["path"], script.path().display().to_string());
    assert_eq!(files[0]["sha256"].as_str().map(str::len), Some(64));
}

#[test]
fn standard_error_and_notes_are_shown_even_to_those_who_want_quiet() {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new(&each(
        "echo \"thinking $n\" >&2\n\
         printf '{\"round\":%s,\"orders\":[],\"note\":\"rested\"}\\n' $n",
    ));
    let more = ["--rounds", "2", "--quiet"];
    let output = succeed(&mut simulate(
        folder.path(),
        "run",
        &script.decider(),
        &more,
    ));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("scheduler: thinking 1\n"), "{said}");
    assert!(said.contains("scheduler: round 2: rested\n"), "{said}");
}
