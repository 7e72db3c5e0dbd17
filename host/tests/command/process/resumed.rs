//! Runs under a program continue with the state the program had.

use super::{Script, each, example, scheduled};
use crate::support::{Folder, Run};

#[test]
fn a_killed_run_ends_with_the_same_digests() {
    let Some(python) = example("python3", "thrifty.py") else {
        return;
    };
    let folder = Folder::new();
    let options = "--rounds 16 --threads 1 --set run.checkpoint_every=1";
    let simulate =
        |out: &str| scheduled(&folder, &python, &format!("simulate {options} --out {out}"));
    simulate("whole").succeed();
    let half = folder.bytes("whole/rounds.jsonl") / 2;
    assert!(simulate("broken").kill_at(&folder.path("broken/rounds.jsonl"), half));
    folder.succeed("resume broken --allow-process --threads 1");
    assert_eq!(folder.results("broken"), folder.results("whole"));
}

/// Schedules one client after the other by the round of the request; `$n` counts this session's.
fn in_turn(first: &str) -> String {
    let body = "r=${l#*\\\"round\\\":}; r=${r%%,*}\n\
                printf '{\"round\":%s,\"orders\":[{\"client\":%s,\"channel\":1,\"power_w\":0.19,\
                \"epochs\":1}]}\\n' $r $((r % 10))";
    each(&format!("{first}\n{body}"))
}

#[test]
fn a_run_continues_after_its_scheduler_is_fixed() {
    let folder = Folder::new();
    let script = Script::new(&in_turn(""));
    let simulate = |out: &str| {
        let options = "--rounds 12 --threads 1 --set run.checkpoint_every=10";
        let words = format!("simulate {options} --out {out}");
        scheduled(&folder, &script.scheduler(), &words)
    };
    simulate("whole").succeed();

    script.write(&in_turn("[ $n = 7 ] && { echo no plan >&2; exit 5; }"));
    let message = simulate("broken").fail(1);
    for token in [
        "round 7",
        "exit status: 5",
        "no plan",
        "gleaner resume --allow-process",
    ] {
        assert!(message.contains(token), "{message}");
    }
    // A second failure loses no round.
    script.write("exit 4");
    let message = folder.fail("resume broken --allow-process");
    for token in ["round 6", "round 7", "exit status: 4"] {
        assert!(message.contains(token), "{message}");
    }
    script.write(&in_turn(""));
    folder.succeed("resume broken --allow-process");
    assert_eq!(folder.results("broken"), folder.results("whole"));

    let environment = folder.json("broken/environment.json");
    let file = &environment["scheduler"]["files"][0];
    let path = script.0.path("script.sh");
    assert_eq!(file["path"], path.display().to_string());
    assert_eq!(file["sha256"].as_str().map(str::len), Some(64));
}

#[test]
fn standard_error_and_notes_are_shown_even_when_quiet() {
    let folder = Folder::new();
    let script = Script::new(&each(
        "echo \"thinking $n\" >&2\n\
         printf '{\"round\":%s,\"orders\":[],\"note\":\"rested\"}\\n' $n",
    ));
    let words = "simulate --rounds 2 --quiet --out run";
    let shown = scheduled(&folder, &script.scheduler(), words).succeed();
    assert!(shown.stderr.contains("thinking 1\n"), "{}", shown.stderr);
    assert!(
        shown.stderr.contains("round 2: rested\n"),
        "{}",
        shown.stderr
    );
}
