//! Programs that die, hang, flood, lie and talk out of turn: each is named with round, field and
//! value, and ended.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{GREET, Script, each, is_alive, run, run_then};

/// Answers nobody's orders.
const REST: &str = "echo \"{\\\"round\\\":$n,\\\"orders\\\":[]}\"";

/// Runs a script until it fails in a round, and makes sure of what is said.
fn refused(script: &str, rounds_before: u32, words: &[&str]) {
    refused_with(script, rounds_before, words, &[]);
}

fn refused_with(script: &str, rounds_before: u32, words: &[&str], more: &[&str]) {
    let script = Script::new(script);
    let ended = run(&script.decider(), more);
    let error = &ended.error;
    let round = format!("round {}: scheduler `sh ", rounds_before + 1);
    assert!(error.starts_with(&round), "{error}");
    for word in words {
        assert!(error.contains(word), "`{word}` is not in: {error}");
    }
    assert!(error.len() < 6_000, "{} characters", error.len());
    assert_eq!(ended.rounds, rounds_before);
}

/// Answers the first request so.
fn answers(answer: &str, words: &[&str]) {
    refused(&each(&format!("printf '%s\\n' '{answer}'")), 0, words);
}

fn orders(orders: &str, words: &[&str]) {
    answers(&format!("{{\"round\":1,\"orders\":[{orders}]}}"), words);
}

#[test]
fn nobody_in_any_round_is_a_decision() {
    let script = Script::new(&each(REST));
    let ended = run(&script.decider(), &[]);
    assert_eq!((ended.error.as_str(), ended.rounds), ("", 6));
    assert_eq!(ended.scheduler, "process-script");
}

#[test]
fn programs_that_are_not_there_or_end() {
    let ended = run("process:no-such-program-anywhere --x", &[]);
    assert!(
        ended
            .error
            .contains("cannot start `no-such-program-anywhere`")
    );
    refused("echo boom >&2; exit 3", 0, &["exit status: 3", "boom"]);
    refused("exit 0", 0, &["exit status: 0", "wrote nothing"]);
    let dies = format!("[ $n = 3 ] && {{ echo lost the plot >&2; exit 7; }}\n{REST}");
    refused(&each(&dies), 2, &["exit status: 7", "lost the plot"]);
    refused(&each("kill -9 $$"), 0, &["signal: 9"]);
}

#[test]
fn programs_that_hang_or_close_a_line_are_ended() {
    let short = ["run.decision_limit_s=0.2"];
    let words = ["no answer within run.decision_limit_s = 0.2 s", "flush"];
    for script in ["exec sleep 600".to_owned(), each("exec sleep 600")] {
        refused_with(&script, 0, &words, &short);
    }
    // Before it greets: a request that is already in the pipe would be one that nobody answers.
    let deaf = "IFS= read -r l; exec 0<&-; echo '{\"version\":1}'; exec sleep 600";
    refused(deaf, 0, &["closed its standard input"]);
    let mute = format!("{GREET}exec 1>&-; exec sleep 600");
    refused(&mute, 0, &["closed its standard output"]);
}

#[test]
fn greetings_that_cannot_be() {
    let greets = |greeting: &str, words: &[&str]| {
        let script = format!("read l; printf '%s\\n' '{greeting}'; exec sleep 600");
        refused(&script, 0, words);
    };
    greets("hello", &["expected value", "in `hello`"]);
    greets(r#"{"version":2}"#, &["version = 2", "version 1"]);
    greets(r#"{"name":"x"}"#, &["missing field `version`"]);
    greets(r#"{"version":1,"name":"../x"}"#, &["name = ../x"]);
    greets(r#"{"version":1,"wants":["all"]}"#, &["wants[0]", "`all`"]);
    greets(
        r#"{"version":1,"aggregation":"sum"}"#,
        &["aggregation", "`sum`"],
    );
    greets(r#"{"version":1,"nam":"x"}"#, &["unknown field `nam`"]);
}

#[test]
fn floods_of_output_are_cut_off() {
    let endless = each("exec tr '\\0' x </dev/zero");
    refused(&endless, 0, &["longer than 8388608 bytes"]);
    refused(&each("exec yes"), 0, &["expected value", "in `y`"]);
}

#[test]
fn floods_of_standard_error_are_shown_in_part_and_stop_nothing() {
    let flood =
        format!("head -c 3000000 /dev/zero | tr '\\0' x >&2\nyes | head -n 9000 >&2\n{REST}");
    let script = Script::new(&each(&flood));
    let ended = run(&script.decider(), &[]);
    assert_eq!((ended.error.as_str(), ended.rounds), ("", 6));
    assert!(!ended.said.is_empty() && ended.said.len() <= 200);
    assert!(ended.said.iter().all(|line| line.len() < 500));
}

#[test]
fn what_is_shown_cannot_draw_on_a_terminal() {
    let script = Script::new(&each(&format!("printf '\\033[2Jclear\\n' >&2\n{REST}")));
    let said = run(&script.decider(), &[]).said.concat();
    assert!(
        said.contains("[2Jclear") && !said.contains('\u{1b}'),
        "{said:?}"
    );
}

#[test]
fn answers_twice_or_for_another_round() {
    let twice = Script::new(&each(&format!("{REST}\n{REST}")));
    let error = run(&twice.decider(), &[]).error;
    // The second may come before or after the next request.
    let early = error.contains("unexpected line");
    assert!(early || error.contains("round = 1: round 2"), "{error}");
    let other = r#"{"round":7,"orders":[]}"#;
    answers(other, &["round = 7: round 1 was asked for"]);
    refused(&each("echo; :"), 0, &["EOF while parsing"]);
}

#[test]
fn lines_that_are_not_json() {
    refused(&each("printf 'a\\377b\\n'"), 0, &["byte 2", "not UTF-8"]);
    answers("{\"round\":1", &["EOF while parsing"]);
    answers("{\"round\":1,\"orders\":[]} x", &["trailing characters"]);
    answers("[1,[]]", &["invalid type: sequence, expected an object"]);
    orders("[0,0,0.1,1]", &["orders[0]: ", "expected an object"]);
    answers(&"[".repeat(500), &["expected"]);
    answers(r#"{"round":1}"#, &["missing field `orders`"]);
    answers(r#"{"round":1,"order":[]}"#, &["unknown field `order`"]);
    answers(r#"{"round":1,"round":1,"orders":[]}"#, &["duplicate field"]);
}

#[test]
fn numbers_that_are_none_or_too_large() {
    let power = |power: &str, words: &[&str]| {
        let order = format!(r#"{{"client":0,"channel":0,"power_w":{power},"epochs":1}}"#);
        orders(&order, words);
    };
    power(
        "NaN",
        &["orders[0].power_w: ", "NaN and infinities are no JSON"],
    );
    power(
        "-Infinity",
        &["orders[0].power_w: ", "infinities are no JSON"],
    );
    power("1e999", &["orders[0].power_w: ", "number out of range"]);
    power("1e300", &["orders[0].power_w = 1e300", "at most 0.1995"]);
    power("0", &["orders[0].power_w = 0.0"]);
    power("-0.001", &["orders[0].power_w = -0.001"]);
    power("\"much\"", &["orders[0].power_w: ", "invalid type"]);
    power(
        "1e-9",
        &["orders[0].power_w = 1e-9", "client 0 on channel 0 needs"],
    );
}

#[test]
fn clients_channels_and_epochs_that_cannot_be() {
    let order = |client: &str, channel: &str, epochs: &str| {
        format!(r#"{{"client":{client},"channel":{channel},"power_w":0.19,"epochs":{epochs}}}"#)
    };
    let pair = |a: String, b: String| format!("{a},{b}");
    orders(&order("10", "0", "1"), &["orders[0].client = 10", "0 to 9"]);
    orders(&order("-1", "0", "1"), &["orders[0].client: ", "-1"]);
    orders(&order("1e3", "0", "1"), &["orders[0].client: ", "floating"]);
    orders(&order("0", "3", "1"), &["orders[0].channel = 3", "0 to 2"]);
    let twice = pair(order("4", "0", "1"), order("4", "1", "1"));
    orders(&twice, &["orders[1].client = 4", "client 4 is named twice"]);
    let shared = pair(order("4", "2", "1"), order("5", "2", "1"));
    orders(
        &shared,
        &["orders[1].channel = 2", "channel 2 is named twice"],
    );
    orders(&order("0", "0", "0"), &["orders[0].epochs = 0"]);
    orders(&order("0", "0", "1.5"), &["orders[0].epochs: "]);
    orders(&order("0", "0", "5000000000"), &["orders[0].epochs: "]);
    orders(
        &order("0", "0", "100000"),
        &["orders[0].epochs = 100000", "finishes "],
    );
    let absent = format!(
        r#"{{"round":1,"orders":[{}],"infeasible":[4]}}"#,
        order("4", "0", "1")
    );
    answers(&absent, &["infeasible[0] = 4", "named twice"]);
    answers(
        r#"{"round":1,"orders":[],"infeasible":[77]}"#,
        &["infeasible[0] = 77"],
    );
}

#[test]
fn a_state_that_is_too_large() {
    let large = "printf '{\"round\":1,\"orders\":[],\"state\":\"'\n\
                 head -c 1048577 /dev/zero | tr '\\0' x\nprintf '\"}\\n'";
    refused(
        &each(large),
        0,
        &["state = 1048577 bytes", "at most 1048576"],
    );
}

#[test]
fn a_program_is_told_its_last_state_and_what_it_asked_for() {
    let checks = "case \"$l\" in *'\"state\":\"s'$((n-1))'\"'*) ;; *) [ $n = 1 ] || exit 9;; esac\n\
                  case \"$l\" in *gradient_norm*estimates*) ;; *) exit 8;; esac\n\
                  printf '{\"round\":%s,\"orders\":[],\"state\":\"s%s\",\"note\":\"n%s\"}\\n' $n $n $n";
    let greeting = "{\"version\":1,\"wants\":[\"gradient-norms\",\"estimates\"]}";
    let script = each(checks).replace("{\"version\":1}", greeting);
    let ended = run(&Script::new(&script).decider(), &[]);
    assert_eq!((ended.error.as_str(), ended.rounds), ("", 6));
    assert!(
        ended.said.contains(&"round 3: n3".to_owned()),
        "{:?}",
        ended.said
    );
    // Whoever does not ask is not told.
    let script = each("case \"$l\" in *gradient_norm*|*estimates*) exit 8;; esac\nexit 7");
    refused(&script, 0, &["exit status: 7"]);
}

#[test]
fn averaging_is_the_programs_where_the_scenario_leaves_it_open() {
    let body = "printf '{\"round\":%s,\"orders\":[{\"client\":0,\"channel\":0,\"power_w\":0.19,\
                \"epochs\":1},{\"client\":1,\"channel\":1,\"power_w\":0.19,\"epochs\":3}]}\\n' $n";
    let mean = Script::new(&each(body));
    let greeting = "{\"version\":1,\"aggregation\":\"nova\"}";
    let nova = Script::new(&each(body).replace("{\"version\":1}", greeting));
    let model = |script: &Script, rule: &str| {
        let ended = run(&script.decider(), &[&format!("aggregation.rule={rule}")]);
        assert_eq!(ended.error, "");
        ended.state.model().to_vec()
    };
    assert_ne!(model(&mean, "auto"), model(&nova, "auto"));
    assert_eq!(model(&mean, "nova"), model(&nova, "auto"));
    assert_eq!(model(&nova, "mean"), model(&mean, "auto"));
}

#[test]
fn no_program_outlives_its_run() {
    let body = format!("echo $$ >pid.tmp; mv pid.tmp pid\n{REST}");
    let script = Script::new("");
    script.write(&format!("cd \"$(dirname \"$0\")\"\n{}", each(&body)));
    let pid = || {
        fs::read_to_string(script.beside("pid"))
            .unwrap()
            .trim()
            .to_owned()
    };

    let ended = run_then(&script.decider(), &[], |_| assert!(is_alive(&pid())));
    assert_eq!(ended.rounds, 6);
    assert!(!is_alive(&pid()), "after the last round");

    let panicked = catch_unwind(AssertUnwindSafe(|| {
        run_then(&script.decider(), &[], |_| panic!("on purpose"));
    }));
    assert!(panicked.is_err() && !is_alive(&pid()), "after a panic");

    // One that does not end with its input.
    let stubborn = format!("trap '' TERM\n{}exec sleep 600\n", each(&body));
    script.write(&format!("cd \"$(dirname \"$0\")\"\n{stubborn}"));
    assert_eq!(run(&script.decider(), &[]).rounds, 6);
    assert!(!is_alive(&pid()), "after its input ended");
}
