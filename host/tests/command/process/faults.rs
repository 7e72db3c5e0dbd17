//! Programs that exit, hang, flood, or break the protocol: the error names round, field and value,
//! and the program is ended.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{GREET, REST, Script, each, is_alive, read_trimmed, run, run_then, scheduled};
use crate::support::{Folder, Run};

/// Runs a script that must fail after so many rounds, with an error that contains these tokens.
fn refused(script: &str, rounds: u32, tokens: &[&str]) {
    refused_with(script, rounds, tokens, &[]);
}

fn refused_with(script: &str, rounds: u32, tokens: &[&str], more: &[&str]) {
    let script = Script::new(script);
    let ended = run(&script.scheduler(), more);
    let error = &ended.error;
    let round = format!("round {}: scheduler `sh ", rounds + 1);
    assert!(error.starts_with(&round), "{error}");
    for token in tokens {
        assert!(error.contains(token), "`{token}` is not in: {error}");
    }
    assert!(error.len() < 6_000, "{} characters", error.len());
    assert_eq!(ended.rounds, rounds);
}

/// Refuses answers to the first request.
fn answers(cases: &[(&str, &str)]) {
    for (answer, token) in cases {
        refused(&each(&format!("printf '%s\\n' '{answer}'")), 0, &[token]);
    }
}

#[test]
fn a_program_may_schedule_no_client() {
    let ended = run(&Script::new(&each(REST)).scheduler(), &[]);
    ended.assert_complete();
    assert_eq!(ended.scheduler, "process-script");
}

#[test]
fn programs_that_are_missing_or_exit_are_named_with_status_and_standard_error() {
    let missing = run("process:no-such-program-anywhere --x", &[]);
    assert!(missing.error.contains("`no-such-program-anywhere`"));
    refused("echo boom >&2; exit 3", 0, &["exit status: 3", "boom"]);
    refused("exit 0", 0, &["exit status: 0"]);
    let exits = format!("[ $n = 3 ] && {{ echo no plan >&2; exit 7; }}\n{REST}");
    refused(&each(&exits), 2, &["exit status: 7", "no plan"]);
    refused(&each("kill -9 $$"), 0, &["signal: 9"]);
}

#[test]
fn programs_that_hang_or_close_a_pipe_are_ended() {
    let limit = ["run.decision_limit_s=0.2"];
    for script in ["exec sleep 600".to_owned(), each("exec sleep 600")] {
        refused_with(&script, 0, &["run.decision_limit_s = 0.2"], &limit);
    }
    // Closed before the greeting, so that no request is in the pipe already.
    let closed = "IFS= read -r l; exec 0<&-; echo '{\"version\":2}'; exec sleep 600";
    refused(closed, 0, &["standard input"]);
    let closed = format!("{GREET}exec 1>&-; exec sleep 600");
    refused(&closed, 0, &["standard output"]);
}

#[test]
fn invalid_greetings() {
    for (greeting, token) in [
        ("hello", "`hello`"),
        (r#"{"version":3}"#, "version = 3"),
        (r#"{"name":"x"}"#, "`version`"),
        (r#"{"version":2,"name":"../x"}"#, "name = ../x"),
        (r#"{"version":2,"wants":["all"]}"#, "wants[0]"),
        (r#"{"version":2,"aggregation":"sum"}"#, "`sum`"),
        (r#"{"version":2,"nam":"x"}"#, "`nam`"),
    ] {
        let script = format!("read l; printf '%s\\n' '{greeting}'; exec sleep 600");
        refused(&script, 0, &[token]);
    }
}

#[test]
fn floods_of_output_are_cut_off() {
    refused(&each("exec tr '\\0' x </dev/zero"), 0, &["8388608"]);
    refused(&each("exec yes"), 0, &["`y`"]);
    let large = "printf '{\"round\":1,\"orders\":[],\"state\":\"'\n\
                 head -c 1048577 /dev/zero | tr '\\0' x\nprintf '\"}\\n'";
    refused(&each(large), 0, &["state = 1048577"]);
}

#[test]
fn standard_error_is_shown_in_part_without_control_characters_and_stops_nothing() {
    let flood = format!(
        "printf '\\033[2Jclear\\n' >&2\nhead -c 3000000 /dev/zero | tr '\\0' x >&2\n\
         yes | head -n 9000 >&2\n{REST}"
    );
    let ended = run(&Script::new(&each(&flood)).scheduler(), &[]);
    ended.assert_complete();
    assert!(ended.said.len() <= 200);
    assert!(ended.said.iter().all(|line| line.len() < 500));
    let said = ended.said.concat();
    assert!(
        said.contains("[2Jclear") && !said.contains('\u{1b}'),
        "{said:?}"
    );
}

#[test]
fn answers_twice_or_for_another_round() {
    let twice = Script::new(&each(&format!("{REST}\n{REST}")));
    let ended = run(&twice.scheduler(), &[]);
    // The second answer arrives before or after the next request.
    assert!(
        ended.rounds <= 1 && !ended.error.is_empty(),
        "{}",
        ended.error
    );
    answers(&[(r#"{"round":7,"orders":[]}"#, "round = 7")]);
}

#[test]
fn answers_that_are_not_json_or_lack_a_field() {
    refused(&each("printf 'a\\377b\\n'"), 0, &["byte 2"]);
    answers(&[
        ("", "EOF"),
        ("{\"round\":1", "EOF"),
        ("{\"round\":1,\"orders\":[]} x", "trailing"),
        ("[1,[]]", "sequence"),
        (r#"{"round":1,"orders":[[0,0,0.1,1]]}"#, "orders[0]"),
        (&"[".repeat(500), "expected"),
        (r#"{"round":1}"#, "`orders`"),
        (r#"{"round":1,"order":[]}"#, "`order`"),
        (r#"{"round":1,"round":1,"orders":[]}"#, "duplicate"),
    ]);
}

#[test]
fn orders_out_of_range() {
    let order = |client: &str, channel: &str, power: &str, epochs: &str| {
        format!(r#"{{"client":{client},"channel":{channel},"power_w":{power},"epochs":{epochs}}}"#)
    };
    let valid = order("4", "0", "0.19", "1");
    let twice =
        |client: &str, channel: &str| format!("{valid},{}", order(client, channel, "0.19", "1"));
    for (orders, token) in [
        (order("0", "0", "NaN", "1"), "orders[0].power_w: "),
        (order("0", "0", "-Infinity", "1"), "orders[0].power_w: "),
        (order("0", "0", "1e999", "1"), "orders[0].power_w: "),
        (order("0", "0", "1e300", "1"), "orders[0].power_w = 1e300"),
        (order("0", "0", "0", "1"), "orders[0].power_w = 0.0"),
        (order("0", "0", "-0.001", "1"), "orders[0].power_w = -0.001"),
        (order("0", "0", "\"much\"", "1"), "orders[0].power_w: "),
        (order("0", "0", "1e-9", "1"), "orders[0].power_w = 1e-9"),
        (order("10", "0", "0.19", "1"), "orders[0].client = 10"),
        (order("-1", "0", "0.19", "1"), "orders[0].client: "),
        (order("1e3", "0", "0.19", "1"), "orders[0].client: "),
        (order("0", "3", "0.19", "1"), "orders[0].channel = 3"),
        (order("0", "0", "0.19", "0"), "orders[0].epochs = 0"),
        (order("0", "0", "0.19", "1.5"), "orders[0].epochs: "),
        (order("0", "0", "0.19", "5000000000"), "orders[0].epochs: "),
        (
            order("0", "0", "0.19", "100000"),
            "orders[0].epochs = 100000",
        ),
        (twice("4", "1"), "orders[1].client = 4"),
        (twice("5", "0"), "orders[1].channel = 0"),
    ] {
        answers(&[(&format!("{{\"round\":1,\"orders\":[{orders}]}}"), token)]);
    }
    let both = format!(r#"{{"round":1,"orders":[{valid}],"infeasible":[4]}}"#);
    let unknown = r#"{"round":1,"orders":[],"infeasible":[77]}"#;
    answers(&[
        (&both, "infeasible[0] = 4"),
        (unknown, "infeasible[0] = 77"),
    ]);
}

#[test]
fn requests_contain_the_last_state_and_the_wanted_fields_only() {
    let checks = "case \"$l\" in *'\"state\":\"s'$((n-1))'\"'*) ;; *) [ $n = 1 ] || exit 9;; esac\n\
                  case \"$l\" in *gradient_norm*estimates*) ;; *) exit 8;; esac\n\
                  printf '{\"round\":%s,\"orders\":[],\"state\":\"s%s\",\"note\":\"n%s\"}\\n' $n $n $n";
    let greeting = "{\"version\":2,\"wants\":[\"gradient-norms\",\"estimates\"]}";
    let script = each(checks).replace("{\"version\":2}", greeting);
    let ended = run(&Script::new(&script).scheduler(), &[]);
    ended.assert_complete();
    let note = "round 3: n3".to_owned();
    assert!(ended.said.contains(&note), "{:?}", ended.said);
    let script = each("case \"$l\" in *gradient_norm*|*estimates*) exit 8;; esac\nexit 7");
    refused(&script, 0, &["exit status: 7"]);
}

#[test]
fn a_program_chooses_the_aggregation_where_the_scenario_does_not() {
    let body = "printf '{\"round\":%s,\"orders\":[{\"client\":0,\"channel\":0,\"power_w\":0.19,\
                \"epochs\":1},{\"client\":1,\"channel\":1,\"power_w\":0.19,\"epochs\":3}]}\\n' $n";
    let mean = Script::new(&each(body));
    let greeting = "{\"version\":2,\"aggregation\":\"nova\"}";
    let nova = Script::new(&each(body).replace("{\"version\":2}", greeting));
    let model = |script: &Script, rule: &str| {
        let ended = run(&script.scheduler(), &[&format!("aggregation.rule={rule}")]);
        ended.assert_complete();
        ended.state.model().to_vec()
    };
    assert_ne!(model(&mean, "auto"), model(&nova, "auto"));
    assert_eq!(model(&mean, "nova"), model(&nova, "auto"));
    assert_eq!(model(&nova, "mean"), model(&mean, "auto"));
}

#[test]
fn no_program_outlives_its_run() {
    let body = each(&format!("echo $$ >pid.tmp; mv pid.tmp pid\n{REST}"));
    let script = Script::new(&body);
    let is_running = || is_alive(&read_trimmed(&script.0.path("pid")));

    let ended = run_then(&script.scheduler(), &[], |_| assert!(is_running()));
    ended.assert_complete();
    assert!(!is_running(), "after the last round");

    let panicked = catch_unwind(AssertUnwindSafe(|| {
        run_then(&script.scheduler(), &[], |_| panic!("on purpose"));
    }));
    assert!(panicked.is_err() && !is_running(), "after a panic");

    // This one does not end with its input.
    script.write(&format!("trap '' TERM\n{body}exec sleep 600\n"));
    run(&script.scheduler(), &[]).assert_complete();
    assert!(!is_running(), "after its input ended");
}

/// Tells whether a process ends within some seconds; a zombie, which waits for whoever adopted it, has.
fn ends(pid: &str) -> bool {
    (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        !is_alive(pid) || stat.is_ok_and(|stat| stat.contains(") Z "))
    })
}

#[cfg(unix)]
#[test]
fn no_program_and_no_child_of_it_outlives_a_killed_host() {
    // It ignores signals and the end of its input, and has a child that does, too.
    let deaf = "trap '' HUP INT TERM\n";
    let body = each(&format!(
        "{REST}\n[ $n = 3 ] && echo $$ >pid.tmp && mv pid.tmp pid"
    ));
    let script = Script::new(&format!(
        "{deaf}sleep 600 & echo $! >child\n{body}exec sleep 600\n"
    ));
    let folder = Folder::new();
    let words = "simulate --quiet --rounds 1000000 --out run";
    let mut host = scheduled(&folder, &script.scheduler(), words);
    assert!(host.kill_at(&script.0.path("pid"), 2));
    for name in ["pid", "child"] {
        let pid = read_trimmed(&script.0.path(name));
        assert!(ends(&pid), "{name}: process {pid} is alive");
    }
}

#[cfg(unix)]
#[test]
fn a_program_that_does_not_end_takes_its_children_with_it() {
    let body = each(REST);
    let script = Script::new(&format!(
        "sleep 600 & echo $! >child\n{body}exec sleep 600\n"
    ));
    run(&script.scheduler(), &[]).assert_complete();
    let child = read_trimmed(&script.0.path("child"));
    assert!(ends(&child), "process {child} is alive");
}
