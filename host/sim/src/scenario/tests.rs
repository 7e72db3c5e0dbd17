//! Ranges, canonical text and round trips of scenarios.

mod class;
mod harvest;

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
            "[clients]\ncount = 9223372036854775807",
            "clients.count = 9223372036854776000: must be at most 100000",
        ),
        (
            "[clients]\ncount = 100000\n[radio]\nchannels = 10000",
            "clients.count = 100000: times radio.channels = 10000 must be at most 10000000; lower one \
             of them",
        ),
        (
            "[run]\nrounds = 10000001",
            "run.rounds = 10000001: must be at most 10000000",
        ),
        (
            "[run]\nrounds = 10000000\n[clients]\ncount = 101\n[harvest]\nsource = \"markov\"",
            "run.rounds = 10000000: times clients.count = 101 must be at most 1000000000 where \
             harvest.source = \"markov\"",
        ),
        (
            "[partition]\nshards_per_client = 9223372036854775807",
            "partition.shards_per_client = 9223372036854776000: must be at most 100000",
        ),
        (
            "[cre]\nv = inf",
            "cre.v = inf: must be a finite number, 0 or more",
        ),
        (
            "[data]\ndirectory = \"here\"",
            "data.directory = here: mnist-subset is inside the program; set data.dataset = \
             \"mnist\", \"cifar10\", \"fashion-mnist\" or that of your own",
        ),
        (
            "[server]\nmomentum = 1.0",
            "server.momentum = 1: must lie in [0, 0.999]",
        ),
        (
            "[server]\nstep = 0.0",
            "server.step = 0: must be a positive number",
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
    for young in ["aggregation", "hostile", "faults", "per-client", "common"] {
        assert!(!text.contains(young), "{text}");
    }
    let sets = [
        "aggregation.rule=median",
        "hostile.clients=1",
        "faults.lost_updates=0.2",
    ];
    let robust = resolve("paper-mlp", &sets.map(|set| set.parse().unwrap())).unwrap();
    let text = robust.to_toml();
    assert!(
        text.ends_with("\n[aggregation]\nrule = \"median\"\n\n[hostile]\nclients = 1\n\n[faults]\nlost_updates = 0.2\n"),
        "{text}"
    );
    assert_eq!(resolve_text(&text, "x", &[]).unwrap(), robust);
}

#[test]
fn stopping_on_validation_needs_images_to_validate_on() {
    let stop: Override = "run.stop=validation".parse().unwrap();
    let refused = resolve("paper-mlp", std::slice::from_ref(&stop)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "run.stop = validation: needs images to validate on, but data.validation_samples = 0; set \
         it to 1000, say, or run.stop = \"rounds\""
    );
    let images: Override = "data.validation_samples=9".parse().unwrap();
    let scenario = resolve("paper-mlp", &[stop, images]).unwrap();
    assert_eq!(
        resolve_text(&scenario.to_toml(), "x", &[]).unwrap(),
        scenario
    );
}

#[test]
fn keys_that_runs_did_without_change_no_canonical_text_until_they_are_used() {
    let text = Scenario::default().to_toml();
    assert!(
        !text.contains("stop") && !text.contains("patience") && !text.contains("validation"),
        "{text}"
    );
}

#[test]
fn a_server_changes_no_canonical_text_until_it_steps_by_itself() {
    use gleaner_learn::server::{Momentum, Spectral, Step};
    let of = |sets: &[&str]| {
        let overrides: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
        resolve("paper-mlp", &overrides).unwrap()
    };
    assert!(!Scenario::default().to_toml().contains("server"));
    assert_eq!(of(&["run.scheduler=random"]).server(), Step::Plain);
    let spectral = of(&["server.rule=spectral", "learning.learning_rate=0.05"]);
    let text = spectral.to_toml();
    assert!(
        text.ends_with("\n[server]\nrule = \"spectral\"\n"),
        "{text}"
    );
    assert_eq!(resolve_text(&text, "x", &[]).unwrap(), spectral);
    let expected = Spectral {
        learning_rate: 0.05,
        momentum: 0.95,
        step: 0.08,
        clip: 2.0,
        anneal: true,
    };
    assert_eq!(spectral.server(), Step::Spectral(expected));
    let expected = Momentum {
        momentum: 0.5,
        rate: 2.0,
        nesterov: true,
    };
    assert_eq!(
        of(&[
            "server.rule=nesterov",
            "server.momentum=0.5",
            "server.rate=2"
        ])
        .server(),
        Step::Momentum(expected)
    );
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

#[test]
fn a_norm_bound_is_a_word_or_a_factor_and_a_later_setting_wins() {
    let bound = |sets: &[&str]| {
        let sets: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
        let resolved = resolve("paper-mlp", &sets);
        resolved.map(|scenario| {
            let again = resolve_text(&scenario.to_toml(), "x", &[]).unwrap();
            assert_eq!(again, scenario);
            scenario.aggregation.norm_bound
        })
    };
    let key = "aggregation.norm_bound";
    assert_eq!(bound(&[]).unwrap().factor(), None);
    for (value, factor) in [
        ("off", None),
        ("auto", Some(8.0)),
        ("3", Some(3.0)),
        ("2.5", Some(2.5)),
    ] {
        let set = format!("{key}={value}");
        assert_eq!(bound(&[&set]).unwrap().factor(), factor, "{value}");
        let (number, word) = (format!("{key}=4"), format!("{key}=auto"));
        assert_eq!(bound(&[&number, &set]).unwrap().factor(), factor, "{value}");
        assert_eq!(bound(&[&word, &set]).unwrap().factor(), factor, "{value}");
    }
    for wrong in ["0.5", "nan", "-1", "sometimes", "true", "[1]"] {
        let error = bound(&[&format!("{key}={wrong}")]).unwrap_err().to_string();
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn trust_needs_samples_of_the_base_station() {
    let rule: Override = "aggregation.rule=fltrust".parse().unwrap();
    let refused = resolve("paper-mlp", std::slice::from_ref(&rule));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("data.validation_samples"), "{refused}");
    let samples: Override = "data.validation_samples=100".parse().unwrap();
    assert!(resolve("paper-mlp", &[rule, samples]).is_ok());
}

#[test]
fn listed_sample_numbers_are_one_for_every_client_and_survive_the_canonical_text() {
    let resolved = |sets: &[&str]| {
        let sets: Vec<Override> = sets.iter().map(|it| it.parse().unwrap()).collect();
        resolve("paper-mlp", &sets)
    };
    for wrong in [
        &["partition.sizes=[5, 6]"][..],
        &["clients.count=2", "partition.sizes=[5, 0]"],
        &[
            "clients.count=2",
            "partition.sizes=[5, 6]",
            "partition.rule=natural",
        ],
    ] {
        let refused = resolved(wrong).unwrap_err().to_string();
        assert!(refused.contains("partition.sizes = ["), "{refused}");
    }
    let listed = resolved(&["clients.count=2", "partition.sizes=[5, 6]"]).unwrap();
    assert_eq!(listed.partition.sizes, [5, 6]);
    assert_eq!(resolve_text(&listed.to_toml(), "x", &[]).unwrap(), listed);
    assert!(!Scenario::default().to_toml().contains("sizes"));
}

#[test]
fn a_required_participant_needs_common_epochs() {
    let required: Override = "cre.require_participants=true".parse().unwrap();
    assert!(resolve("paper-mlp", std::slice::from_ref(&required)).is_ok());
    let each: Override = "cre.epochs=per-client".parse().unwrap();
    let refused = resolve("paper-mlp", &[required, each])
        .unwrap_err()
        .to_string();
    assert!(refused.contains("cre.require_participants"), "{refused}");
}
