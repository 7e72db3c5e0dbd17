//! What a scenario is from file to file: ranges, canonical text, and back.

mod class;

use super::{Override, Scenario, resolve, resolve_text};

#[test]
fn an_empty_trace_changes_no_canonical_text_and_a_set_one_survives_it() {
    assert!(!Scenario::default().to_toml().contains("trace"));
    assert!(
        Scenario::default()
            .to_commented_toml()
            .contains("trace = \"\"")
    );
    let path = "lab \\ \"7\"/gains.csv";
    let traced = resolve("paper-mlp", &[Override::new("channel.trace", path)]).unwrap();
    assert_eq!(traced.channel.trace, path);
    assert_eq!(resolve_text(&traced.to_toml(), "x", &[]).unwrap(), traced);
}

#[test]
fn values_out_of_range_name_key_value_and_fix() {
    for (text, expected) in [
        ("[run]\nrounds = 0", "run.rounds = 0: must be at least 1"),
        (
            "[partition]\nnon_iid_degree = 1.5",
            "partition.non_iid_degree = 1.5: must lie in [0, 1]",
        ),
        (
            "[device]\ndeadline_s = -1.0",
            "device.deadline_s = -1: must be a positive number",
        ),
        (
            "[radio]\nchannels = 1_000_000_000_000",
            "radio.channels = 1000000000000: must be at most 10000",
        ),
        (
            "[cre]\nv = inf",
            "cre.v = inf: must be a finite number, 0 or more",
        ),
        (
            "[data]\ndirectory = \"here\"",
            "data.directory = here: the subset is inside the program; set data.dataset = \
             \"mnist\" or \"cifar10\"",
        ),
        (
            "[channel]\nradius_m = nan",
            "channel.radius_m = NaN: must be a positive number",
        ),
    ] {
        assert_eq!(
            resolve_text(text, "x", &[]).unwrap_err().to_string(),
            expected
        );
    }
}

#[test]
fn sections_that_runs_did_without_change_no_canonical_text_until_they_are_used() {
    let text = Scenario::default().to_toml();
    for young in ["aggregation", "hostile", "per-client", "common"] {
        assert!(!text.contains(young), "{text}");
    }
    let sets = ["aggregation.rule=median", "hostile.clients=1"];
    let robust = resolve("paper-mlp", &sets.map(|set| set.parse().unwrap())).unwrap();
    let text = robust.to_toml();
    assert!(
        text.ends_with("\n[aggregation]\nrule = \"median\"\n\n[hostile]\nclients = 1\n"),
        "{text}"
    );
    assert_eq!(resolve_text(&text, "x", &[]).unwrap(), robust);
}

#[test]
fn rules_are_refused_where_they_cannot_hold() {
    let refused = |sets: &[&str]| {
        let overrides: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
        resolve("paper-mlp", &overrides).map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert_eq!(
        refused(&["aggregation.rule=krum"]),
        "aggregation.rule = krum: needs 2 x 1 + 3 = 5 updates a round, but radio.channels = 3 and \
         clients.count = 10 allow 3; set both to 5 or more"
    );
    assert_eq!(
        refused(&["aggregation.rule=trimmed-mean", "aggregation.hostile=2"]),
        "aggregation.rule = trimmed-mean: needs 2 x 2 + 1 = 5 updates a round, but radio.channels \
         = 3 and clients.count = 10 allow 3; set both to 5 or more, or aggregation.hostile lower"
    );
    assert_eq!(
        refused(&["aggregation.rule=median", "clients.count=2"]),
        "aggregation.rule = median: needs 3 updates a round, but radio.channels = 3 and \
         clients.count = 2 allow 2; set both to 3 or more"
    );
    for fits in ["median", "clip", "trimmed-mean", "mean", "nova", "auto"] {
        assert_eq!(refused(&[&format!("aggregation.rule={fits}")]), "");
    }
    assert_eq!(refused(&["aggregation.rule=krum", "radio.channels=5"]), "");
    assert_eq!(
        refused(&["hostile.clients=11"]),
        "hostile.clients = 11: must be at most clients.count = 10"
    );
    assert_eq!(
        refused(&["cre.epochs=per-client", "cre.solver=large"]),
        "cre.epochs = per-client: is solved exactly only; set cre.solver = \"auto\" instead of \
         \"large\""
    );
    assert_eq!(refused(&["cre.epochs=per-client", "cre.solver=exact"]), "");
    let absurd = format!("aggregation.hostile={}", i64::MAX);
    assert!(refused(&["aggregation.rule=krum", &absurd]).contains("needs"));
}
