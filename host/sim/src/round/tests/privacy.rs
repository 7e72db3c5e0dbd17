//! Differential privacy in the engine, on clients that ignore the bound they are told.

use super::*;
use crate::policy::Decider;
use gleaner_learn::privacy::Mechanism;

/// Clients whose steps are 1.5 times as long as the bound and point one way.
const CLIP: f64 = 0.01;
const Z: f64 = 4.0;

fn private(scheduler: Scheduler, more: &[(&str, f64)]) -> Scenario {
    let mut overrides = vec![
        Override::new("run.scheduler", scheduler.to_string()),
        Override::new("run.rounds", 25),
        Override::new("privacy.clip", CLIP),
        Override::new("privacy.noise_multiplier", Z),
    ];
    let whole = |value: f64| value.fract() == 0.0 && value < 1e9;
    overrides.extend(more.iter().map(|&(key, value)| {
        let float = key.starts_with("privacy") && key != "privacy.full_samples";
        match whole(value) && !float {
            true => Override::new(key, value as i64),
            false => Override::new(key, value),
        }
    }));
    resolve("paper-mlp", &overrides).unwrap()
}

/// Returns the environment of a scenario whose noise has this secret.
fn keyed(scenario: &Scenario, noise: Option<NoiseKey>) -> Environment {
    Environment {
        noise,
        ..environment::of(scenario).unwrap()
    }
}

const fn key(byte: u8) -> Option<NoiseKey> {
    Some(NoiseKey([byte; 32]))
}

fn rows(logs: &[RoundLog]) -> Vec<PrivacyRow> {
    logs.iter().map(|log| log.round.privacy.unwrap()).collect()
}

#[test]
fn drawn_participants_amplify_and_all_others_compose_their_own_orders() {
    let (logs, _) = run(&private(Scheduler::Random, &[]), NOBODY);
    let (drawn, known) = (Mechanism::sampled(Z, 3, 10), Mechanism::gaussian(Z));
    for (round, row) in (1..).zip(rows(&logs)) {
        assert_eq!(row.epsilon, drawn.epsilon(round, 1e-5));
        assert_eq!(
            row.epsilon_if_known,
            Some(known.epsilon(row.most_orders, 1e-5))
        );
    }
    for scheduler in [
        Scheduler::RoundRobin,
        Scheduler::Glean,
        Scheduler::VersionAge,
    ] {
        let (logs, _) = run(&private(scheduler, &[]), NOBODY);
        let mut orders = [0; 10];
        for (log, row) in logs.iter().zip(rows(&logs)) {
            for client in log.clients.iter().filter(|row| row.channel.is_some()) {
                orders[client.client.index()] += 1;
            }
            let most = orders.into_iter().max().unwrap();
            assert_eq!(
                (row.most_orders, row.epsilon_if_known),
                (most, None),
                "{scheduler}"
            );
            assert_eq!(row.epsilon, known.epsilon(most, 1e-5), "{scheduler}");
        }
        assert!(orders.iter().sum::<u32>() > 25, "{scheduler}");
    }
}

#[test]
fn an_order_counts_though_no_update_came_back() {
    let scenario = private(Scheduler::RoundRobin, &[]);
    let everybody: Mute = |_, _| true;
    let (logs, state) = run(&scenario, everybody);
    let (heard, _) = run(&scenario, NOBODY);
    assert_eq!(rows(&logs), rows(&heard));
    // The noise of a round does not say whether anyone was heard.
    assert!(state.model().iter().all(|&x| x != 0.0), "{state:?}");
}

#[test]
fn the_budget_ends_the_run_before_it_is_exceeded() {
    for scheduler in [Scheduler::Random, Scheduler::RoundRobin] {
        let unlimited = rows(&run(&private(scheduler, &[]), NOBODY).0);
        let budget = unlimited[12].epsilon + 1e-6;
        let scenario = private(
            scheduler,
            &[("privacy.epsilon", budget), ("run.evaluate_every", 7.0)],
        );
        let (logs, _) = run(&scenario, NOBODY);
        let (last, before) = logs.split_last().unwrap();
        let ending = Ending {
            cause: Cause::Epsilon,
            kept_round: last.round.round,
        };
        assert_eq!(last.round.ending, Some(ending), "{scheduler}");
        assert!(last.round.accuracy.is_some() && last.round.privacy.unwrap().epsilon <= budget);
        assert!(before.iter().all(|log| log.round.ending.is_none()));
        // Nothing but the last round's end differs from the run without a budget.
        assert_eq!(rows(&logs), unlimited[..logs.len()], "{scheduler}");
        assert!(
            (10..=13).contains(&logs.len()),
            "{scheduler}: {}",
            logs.len()
        );
        let next = match scheduler {
            Scheduler::Random => Mechanism::sampled(Z, 3, 10).epsilon(14, 1e-5),
            _ => Mechanism::gaussian(Z).epsilon(last.round.privacy.unwrap().most_orders + 1, 1e-5),
        };
        assert!(next > budget, "{scheduler}");
    }
}

#[test]
fn a_resumed_run_continues_noise_epsilon_and_end() {
    for scheduler in [Scheduler::Random, Scheduler::RoundRobin, Scheduler::Glean] {
        let unlimited = rows(&run(&private(scheduler, &[]), NOBODY).0);
        let budget = unlimited[12].epsilon + 1e-6;
        let scenario = private(scheduler, &[("privacy.epsilon", budget)]);
        let (whole, end) = run(&scenario, NOBODY);
        let rounds = whole.len();
        assert!((5..25).contains(&rounds), "{scheduler}: {rounds}");
        let fleet = || Parabolas {
            rate: scenario.learning.learning_rate as f32,
            mute: NOBODY,
        };
        let environment = || environment::of(&scenario).unwrap();
        let (mut first, mut second) = (fleet(), fleet());
        let mut engine = Engine::new(&scenario, &mut first, &NoTest, environment(), vec![0.0; 2]);
        for _ in 0..4 {
            engine.step().unwrap();
        }
        let bytes = postcard::to_allocvec(&engine.checkpoint()).unwrap();
        let saved: State = postcard::from_bytes(&bytes).unwrap();
        let mut engine =
            Engine::resume(&scenario, &mut second, &NoTest, environment(), saved).unwrap();
        let mut rest = Vec::new();
        while !engine.is_finished() {
            rest.extend(engine.step().unwrap());
        }
        assert_eq!(rest, whole[4..], "{scheduler}");
        assert_eq!(engine.state(), &end, "{scheduler}");
    }
}

#[test]
fn the_noise_has_the_stated_deviation_and_a_generator_for_every_seed_and_round() {
    let deviation = Z * 2.0 * CLIP / 3.0;
    let model = |seed: u32, multiplier: f64, rounds: u32| -> Vec<f32> {
        let settings = [
            ("run.seed", f64::from(seed)),
            ("privacy.noise_multiplier", multiplier),
            ("run.rounds", f64::from(rounds)),
        ];
        let silent: Mute = |_, _| true;
        run(&private(Scheduler::RoundRobin, &settings), silent)
            .1
            .model()
            .to_vec()
    };
    assert_eq!(model(1, 0.0, 1), [0.0, 0.0]);
    assert_eq!(model(1, Z, 1), model(1, Z, 1));
    let drawn: Vec<f64> = (0..400)
        .flat_map(|seed| model(seed, Z, 1))
        .map(|x| f64::from(x) / deviation)
        .collect();
    let variance = drawn.iter().map(|x| x * x).sum::<f64>() / drawn.len() as f64;
    // Five standard errors, sqrt(2 / 800) each.
    assert!((variance - 1.0).abs() < 0.25, "{variance}");
    let (one, two) = (model(1, Z, 1), model(1, Z, 2));
    assert!(one[0] != two[0] && (two[0] - one[0]) != one[0]);
}

#[test]
fn a_secret_changes_the_noise_and_the_same_secret_repeats_it() {
    let scenario = private(Scheduler::Random, &[]);
    let with = |noise: Option<NoiseKey>| {
        let mut fleet = Parabolas {
            rate: 0.01,
            mute: NOBODY,
        };
        let environment = keyed(&scenario, noise);
        let mut engine = Engine::new(&scenario, &mut fleet, &NoTest, environment, vec![0.0; 2]);
        engine.step().unwrap();
        engine.state().model().to_vec()
    };
    assert_eq!(with(key(1)), with(key(1)));
    assert_ne!(with(key(1)), with(key(2)));
    assert_ne!(with(key(1)), with(None));
}

#[test]
fn a_repeated_round_with_other_updates_has_other_noise() {
    let scenario = private(Scheduler::RoundRobin, &[]);
    let first_model = |mute: Mute| {
        let mut fleet = Parabolas { rate: 0.01, mute };
        let environment = keyed(&scenario, key(1));
        let mut engine = Engine::new(&scenario, &mut fleet, &NoTest, environment, vec![0.0; 2]);
        engine.step().unwrap();
        engine.state().model().to_vec()
    };
    let everybody: Mute = |_, _| true;
    let (heard, silent) = (first_model(NOBODY), first_model(everybody));
    let apart: Vec<f64> = (heard.iter().zip(&silent))
        .map(|(one, other)| f64::from(one - other))
        .collect();
    // The mean without noise is no longer than the bound.
    assert!(apart[0].hypot(apart[1]) > 1.01 * CLIP, "{apart:?}");
}

/// Every client is told `run.seed`: draws that follow from it are no secret.
#[test]
fn secret_draws_of_random_do_not_follow_from_the_seed() {
    let orders = |scheduler, multiplier: f64, noise: Option<NoiseKey>| {
        let scenario = private(scheduler, &[("privacy.noise_multiplier", multiplier)]);
        let mut fleet = Parabolas {
            rate: 0.01,
            mute: NOBODY,
        };
        let environment = keyed(&scenario, noise);
        let mut engine = Engine::new(&scenario, &mut fleet, &NoTest, environment, vec![0.0; 2]);
        let rounds = (0..10).flat_map(|_| engine.step().unwrap());
        let ordered = |log: RoundLog| {
            let clients = log.clients.into_iter().filter(|row| row.channel.is_some());
            clients.map(|row| row.client).collect::<Vec<_>>()
        };
        rounds.map(ordered).collect::<Vec<_>>()
    };
    let open = orders(Scheduler::Random, Z, None);
    let secret = orders(Scheduler::Random, Z, key(1));
    assert_eq!(secret, orders(Scheduler::Random, Z, key(1)));
    assert_ne!(secret, orders(Scheduler::Random, Z, key(2)));
    assert_ne!(secret, open);
    // Nothing is counted on where there is no noise, or where others know the participants.
    assert_eq!(orders(Scheduler::Random, 0.0, key(1)), open);
    let aged = |key| orders(Scheduler::VersionAge, Z, key);
    assert_eq!(aged(key(1)), aged(None));
}

#[test]
fn a_client_that_ignores_the_bound_is_named_and_moves_the_model_by_its_share() {
    // Sends steps of length 1.4 and more: 140 times the bound.
    let scenario = private(Scheduler::RoundRobin, &[("privacy.noise_multiplier", 0.0)]);
    let mut fleet = Parabolas {
        rate: 1.0,
        mute: NOBODY,
    };
    let (logs, _) = drive(&scenario, &mut fleet);
    let environment = environment::of(&scenario).unwrap();
    let mut fleet = Parabolas {
        rate: 1.0,
        mute: NOBODY,
    };
    let mut engine = Engine::new(&scenario, &mut fleet, &NoTest, environment, vec![0.0; 2]);
    engine.step().unwrap();
    let model = engine.state().model();
    let length = f64::from(model[0]).hypot(model[1].into());
    assert!(
        length > 0.9 * CLIP && length <= CLIP * (1.0 + 1e-6),
        "{length}"
    );
    let named = &logs[0].round.anomalies;
    assert_eq!(named.len(), 3, "{named:?}");
    assert!(
        named[0].what.contains("the bound of its order"),
        "{named:?}"
    );
    assert!(
        logs.iter().all(|log| log.round.privacy.is_none()),
        "no noise has no epsilon"
    );
}

#[test]
fn no_mean_without_noise_is_logged() {
    let (logs, _) = run(&private(Scheduler::Random, &[]), NOBODY);
    assert!(logs.iter().all(|log| log.round.train_loss.is_none()));
    let (open, _) = run(&scenario(Scheduler::Random, Estimates::Oracle), NOBODY);
    assert!(open[24].round.train_loss.is_some() && open[24].round.privacy.is_none());
}

#[test]
fn the_spectral_step_follows_the_noisy_mean_alone() {
    let scenario = private(Scheduler::Glean, &[("privacy.noise_multiplier", 0.0)]);
    let (_, state) = run(&scenario, NOBODY);
    assert!(
        state.model()[0] > 0.05 && state.model()[1] < -0.05,
        "{state:?}"
    );
    // Clients' lengths, whose median would bound them, are not kept.
    let bytes = postcard::to_allocvec(&state.server).unwrap();
    let server: gleaner_learn::server::State = postcard::from_bytes(&bytes).unwrap();
    assert!(
        format!("{server:?}").contains("lengths: [0.0, 0.0, 0.0"),
        "{server:?}"
    );
}

#[test]
fn schedulers_that_see_losses_or_gradients_are_refused_and_the_others_named() {
    for scheduler in Scheduler::VARIANTS {
        let sets = [
            Override::new("run.scheduler", scheduler.to_string()),
            Override::new("privacy.clip", 1.0),
            Override::new("aggregation.rule", "mean"),
        ];
        let refused = resolve("paper-mlp", &sets)
            .err()
            .map(|error| error.to_string());
        assert_eq!(refused.is_some(), scheduler.sees_learning(), "{scheduler}");
        if let Some(refused) = refused {
            assert!(
                refused.starts_with(&format!("run.scheduler = {scheduler}: ")),
                "{refused}"
            );
            assert!(refused.contains("random, round-robin"), "{refused}");
            assert!(!refused.contains("eafl,"), "{refused}");
        }
        // What a scheduler asks for is what it sees.
        let policy = settings::policy(&Scenario {
            run: crate::scenario::Run {
                scheduler: Decider::Own(*scheduler),
                ..Default::default()
            },
            ..Scenario::default()
        });
        let asks = policy.wants_estimates() || policy.wants_gradient_norms();
        assert!(!asks || scheduler.sees_learning(), "{scheduler}");
    }
}

#[test]
fn settings_that_promise_too_much_are_refused_with_their_key() {
    let refused = |sets: &[&str]| {
        let mut all = vec!["run.scheduler=random"];
        all.extend(sets);
        let overrides: Vec<Override> = all.iter().map(|set| set.parse().unwrap()).collect();
        let error = resolve("paper-mlp", &overrides).err();
        error.map_or(String::new(), |error| error.to_string())
    };
    let on = "privacy.clip=1";
    assert_eq!(refused(&[on]), "");
    for (sets, key) in [
        (
            vec!["privacy.noise_multiplier=1"],
            "privacy.noise_multiplier = 1",
        ),
        (vec!["privacy.epsilon=1"], "privacy.epsilon = 1"),
        (vec![on, "privacy.epsilon=1"], "privacy.epsilon = 1"),
        (
            vec![on, "privacy.epsilon=1", "privacy.noise_multiplier=1"],
            "privacy.epsilon = 1",
        ),
        (vec![on, "privacy.delta=0"], "privacy.delta = 0"),
        (vec![on, "privacy.delta=0.1"], "privacy.delta = 0.1"),
        (
            vec![on, "run.scheduler=process:true"],
            "run.scheduler = process:true",
        ),
        (vec![on, "run.scheduler=fednova"], "aggregation.rule = auto"),
        (vec![on, "aggregation.rule=nova"], "aggregation.rule = nova"),
        (vec![on, "aggregation.rule=clip"], "aggregation.rule = clip"),
        (
            vec![on, "aggregation.rule=median"],
            "aggregation.rule = median",
        ),
        (
            vec![on, "aggregation.rule=trimmed-mean"],
            "aggregation.rule = trimmed-mean",
        ),
        (
            vec![on, "aggregation.rule=krum", "radio.channels=5"],
            "aggregation.rule = krum",
        ),
        (
            vec![
                on,
                "aggregation.rule=fltrust",
                "data.validation_samples=100",
            ],
            "aggregation.rule = fltrust",
        ),
        (
            vec![on, "aggregation.norm_bound=8"],
            "aggregation.norm_bound = 8",
        ),
    ] {
        let found = refused(&sets);
        assert!(found.starts_with(&format!("{key}: ")), "{sets:?}: {found}");
    }
    let one_round = refused(&[on, "privacy.epsilon=1", "privacy.noise_multiplier=1"]);
    assert!(one_round.contains("one round spends 3."), "{one_round}");
}
