//! glean in the engine: no client overdraws, also with failing and hostile clients.

use super::*;

fn gleaned(more: &[Override], mute: Mute) -> (Vec<RoundLog>, State) {
    let glean = scenario_with(Scheduler::Glean, more);
    run(&glean, mute)
}

fn scenario_with(scheduler: Scheduler, more: &[Override]) -> Scenario {
    let mut overrides = vec![
        Override::new("run.scheduler", scheduler.to_string()),
        Override::new("run.rounds", 120),
    ];
    overrides.extend_from_slice(more);
    resolve("paper-mlp", &overrides).unwrap()
}

/// Counts the rounds in which clients were ordered, and in which they were heard.
fn attended(logs: &[RoundLog]) -> ([usize; 10], [usize; 10]) {
    let (mut ordered, mut heard) = ([0; 10], [0; 10]);
    for row in logs.iter().flat_map(|log| &log.clients) {
        ordered[row.client.index()] += usize::from(row.channel.is_some());
        heard[row.client.index()] += usize::from(row.state == ClientState::Trained);
    }
    (ordered, heard)
}

#[test]
fn nobody_overdraws_in_any_round_whatever_the_income() {
    for income_j in [0.0, 2.6e-4, 4e-4, 1.75e-3] {
        for seed in 0..4 {
            let more = [
                Override::new("device.harvest_j", income_j),
                Override::new("run.seed", seed),
            ];
            let (logs, _) = gleaned(&more, NOBODY);
            for log in &logs {
                assert_eq!(log.round.overdrawn, [], "{income_j} J");
                assert_eq!(log.round.absent, [], "{income_j} J");
                assert!(log.clients.iter().all(|row| row.epochs <= 1));
            }
            let trained = logs.iter().filter(|log| !log.round.participants.is_empty());
            assert_eq!(trained.count() > 60, income_j > 0.0, "{income_j} J");
        }
    }
}

#[test]
fn odd_cycles_and_clocks_do_not_let_the_books_overdraw() {
    // Costs a cycle that are no whole femtojoules, and few of them.
    for (cycles, alpha) in [(33.337, 3.33e-29), (777.7, 1.234e-27), (0.123, 7.7e-26)] {
        let more = [
            Override::new("device.cycles_per_sample", cycles),
            Override::new("device.energy_coefficient", alpha),
            Override::new("device.harvest_j", 2e-4),
        ];
        let (logs, _) = gleaned(&more, NOBODY);
        assert!(logs.iter().all(|log| log.round.overdrawn.is_empty()));
        assert!(logs.iter().any(|log| !log.round.participants.is_empty()));
    }
}

#[test]
fn a_dead_client_pays_for_what_it_was_asked_and_is_asked_ever_more_rarely() {
    let (logs, _) = gleaned(&[], |_, client| client == 4);
    let (ordered, heard) = attended(&logs);
    assert_eq!(heard[4], 0);
    assert!((3..20).contains(&ordered[4]), "{ordered:?}");
    let others = (0..10).filter(|&client| client != 4);
    assert!(
        others
            .clone()
            .all(|client| ordered[client] == heard[client])
    );
    assert!(others.clone().all(|client| heard[client] > 20), "{heard:?}");
}

#[test]
fn a_client_that_returns_takes_part_again() {
    let (logs, _) = gleaned(&[], |round, client| client == 4 && round <= 60);
    let (_, early) = attended(&logs[..60]);
    let (_, late) = attended(&logs[60..]);
    assert_eq!(early[4], 0);
    assert!(late[4] > 8, "{late:?}");
}

#[test]
fn rounds_in_which_everybody_is_lost_change_nothing_and_the_run_goes_on() {
    let (logs, state) = gleaned(&[], |round, _| round <= 50);
    assert!(
        logs[..50]
            .iter()
            .all(|log| log.round.participants.is_empty())
    );
    let (_, late) = attended(&logs[50..]);
    assert!(late.iter().all(|&times| times > 0), "{late:?}");
    assert!(state.model()[0] > 0.1);
}

#[test]
fn a_client_that_sends_no_numbers_counts_as_failing() {
    for lie in [f32::NAN, f32::INFINITY] {
        let scenario = scenario_with(Scheduler::Glean, &[]);
        let (logs, state) = liars::run_with(&scenario, 4, move |update| update.model[0] = lie);
        let (ordered, heard) = attended(&logs);
        assert_eq!(heard[4], 0);
        assert!((3..20).contains(&ordered[4]), "{ordered:?}");
        assert!(state.model().iter().all(|x| x.is_finite()));
    }
}

#[test]
fn ages_survive_a_checkpoint() {
    let scenario = scenario_with(Scheduler::Glean, &[]);
    let mute: Mute = |round, client| client == 4 && round <= 60;
    let (whole, end) = run(&scenario, mute);
    let rate = scenario.learning.learning_rate as f32;
    let mut fleet = Parabolas { rate, mute };
    let environment = || environment::of(&scenario).unwrap();
    let mut engine = Engine::new(
        &scenario,
        &mut fleet,
        &NoTest,
        environment(),
        vec![0.0, 0.0],
    );
    let mut logs = Vec::new();
    for _ in 0..47 {
        logs.extend(engine.step().unwrap());
    }
    let bytes = postcard::to_allocvec(&engine.checkpoint()).unwrap();
    let saved: State = postcard::from_bytes(&bytes).unwrap();
    let mut fleet = Parabolas { rate, mute };
    let mut engine = Engine::resume(&scenario, &mut fleet, &NoTest, environment(), saved).unwrap();
    while !engine.is_finished() {
        logs.extend(engine.step().unwrap());
    }
    assert_eq!(logs, whole);
    assert_eq!(engine.state(), &end);
}
