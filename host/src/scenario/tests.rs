//! What a scenario is from file to file: ranges, canonical text, and back.

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
