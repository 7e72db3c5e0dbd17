//! Runs that stop on validation, with scores that were written beforehand.

use std::cell::Cell;

use super::*;

/// Validation scores one after the other; the last one counts for ever.
struct Script<'a> {
    scores: &'a [(f64, f64)],
    at: Cell<usize>,
}

impl Examiner for Script<'_> {
    fn examine(&self, model: &[f32]) -> Score {
        NoTest.examine(model)
    }

    fn validate(&self, _model: &[f32]) -> Option<Score> {
        let at = self.at.replace(self.at.get() + 1);
        let (accuracy, loss) = self.scores[at.min(self.scores.len() - 1)];
        Some(Score { accuracy, loss })
    }
}

fn stopping(sets: &[&str]) -> Scenario {
    let base = [
        "run.scheduler=random",
        "run.rounds=25",
        "run.stop=validation",
        "run.patience=3",
        "data.validation_samples=100",
    ];
    let sets = base.iter().chain(sets);
    let overrides: Vec<Override> = sets.map(|set| set.parse().unwrap()).collect();
    resolve("paper-mlp", &overrides).unwrap()
}

/// Runs to the end, from a state where one is given; `states` are those after every round.
fn play(
    scenario: &Scenario,
    scores: &[(f64, f64)],
    from: Option<State>,
) -> (Vec<RoundLog>, Vec<State>) {
    let mut fleet = Parabolas {
        rate: scenario.learning.learning_rate as f32,
        mute: NOBODY,
    };
    let examined = from.as_ref().map_or(0, |state| state.round() as usize);
    let script = Script {
        scores,
        at: Cell::new(examined / scenario.run.evaluate_every),
    };
    let environment = environment::of(scenario).unwrap();
    let mut engine = match from {
        None => Engine::new(scenario, &mut fleet, &script, environment, vec![0.0, 0.0]),
        Some(state) => Engine::resume(scenario, &mut fleet, &script, environment, state).unwrap(),
    };
    let (mut logs, mut states) = (Vec::new(), Vec::new());
    while !engine.is_finished() {
        logs.extend(engine.step().unwrap());
        states.push(engine.checkpoint());
    }
    (logs, states)
}

/// Rises for five evaluations, then falls.
const HILL: [(f64, f64); 8] = [
    (0.1, 2.3),
    (0.4, 2.0),
    (0.6, 1.5),
    (0.6, 1.6),
    (0.7, 1.7),
    (0.6, 1.0),
    (0.5, 1.0),
    (0.4, 1.0),
];

fn ending(logs: &[RoundLog]) -> (u32, Ending) {
    let (last, before) = logs.split_last().unwrap();
    assert!(before.iter().all(|log| log.round.ending.is_none()));
    assert!(last.round.accuracy.is_some() && last.round.validation_accuracy.is_some());
    (last.round.round, last.round.ending.unwrap())
}

const fn kept(kept_round: u32, cause: Cause) -> Ending {
    Ending { cause, kept_round }
}

#[test]
fn a_run_ends_when_patience_does_and_keeps_the_best_model_not_the_last() {
    let (logs, states) = play(&stopping(&[]), &HILL, None);
    assert_eq!(ending(&logs), (8, kept(5, Cause::Patience)));
    let end = states.last().unwrap();
    assert_eq!(end.kept_model(), states[4].model());
    assert_ne!(end.kept_model(), end.model());
    assert_eq!((end.kept_round(), end.round()), (5, 8));
}

#[test]
fn patience_counts_evaluations_not_rounds() {
    let scenario = stopping(&["run.evaluate_every=3"]);
    let (logs, states) = play(&scenario, &HILL, None);
    assert_eq!(ending(&logs), (24, kept(15, Cause::Patience)));
    assert_eq!(states[23].kept_model(), states[14].model());
    let evaluated = logs.iter().filter(|log| log.round.accuracy.is_some());
    assert_eq!(evaluated.count(), 8);
}

#[test]
fn the_first_evaluation_may_be_the_best() {
    let (logs, states) = play(&stopping(&[]), &[(0.9, 0.1), (0.1, 2.0)], None);
    assert_eq!(ending(&logs), (4, kept(1, Cause::Patience)));
    assert_eq!(states[3].kept_model(), states[0].model());
}

#[test]
fn a_run_that_is_patient_to_the_end_keeps_its_best_model_all_the_same() {
    let scenario = stopping(&["run.patience=25", "run.evaluate_every=10"]);
    let (logs, states) = play(&scenario, &[(0.1, 2.0), (0.9, 0.1), (0.8, 0.2)], None);
    // Round 25 is no multiple of 10, and the last.
    assert_eq!(ending(&logs), (25, kept(20, Cause::Rounds)));
    assert_eq!(states[24].kept_model(), states[19].model());
}

#[test]
fn scores_that_are_no_numbers_end_the_run_and_keep_nothing() {
    let (logs, states) = play(&stopping(&[]), &[(0.9, f64::NAN)], None);
    assert_eq!(ending(&logs), (3, kept(3, Cause::Patience)));
    assert_eq!(states[2].kept_model(), states[2].model());
    let (logs, _) = play(&stopping(&[]), &[(0.2, 2.0), (0.9, f64::NAN)], None);
    assert_eq!(ending(&logs), (4, kept(1, Cause::Patience)));
}

#[test]
fn without_the_rule_scores_are_logged_and_decide_nothing() {
    let scenario = stopping(&["run.stop=rounds"]);
    let (logs, states) = play(&scenario, &HILL, None);
    assert_eq!(logs.len(), 25);
    assert!(logs.iter().all(|log| log.round.ending.is_none()));
    assert_eq!(logs[4].round.validation_accuracy, Some(0.7));
    assert_eq!(logs[4].round.validation_loss, Some(1.7));
    let end = states.last().unwrap();
    assert_eq!((end.kept_model(), end.kept_round()), (end.model(), 25));
    // Both train alike as long as both train.
    let (_, stopped) = play(&stopping(&[]), &HILL, None);
    assert_eq!(stopped.last().unwrap().model(), states[7].model());
}

#[test]
fn a_run_continued_from_any_round_ends_at_the_same_one_with_the_same_model() {
    for every in [1, 2] {
        let scenario = stopping(&[&format!("run.evaluate_every={every}")]);
        let (logs, states) = play(&scenario, &HILL, None);
        for (done, state) in (1..).zip(&states[..states.len() - 1]) {
            let bytes = postcard::to_allocvec(state).unwrap();
            let saved: State = postcard::from_bytes(&bytes).unwrap();
            let (rest, end) = play(&scenario, &HILL, Some(saved));
            assert_eq!(rest, logs[done..], "after {done}");
            assert_eq!(end.last(), states.last(), "after {done}");
        }
    }
}

#[test]
fn a_line_without_validation_names_nothing_of_it() {
    let (logs, _) = run(&scenario(Scheduler::Random, Estimates::Oracle), NOBODY);
    let line = serde_json::to_string(&logs.last().unwrap().round).unwrap();
    assert!(
        !line.contains("validation") && !line.contains("ending"),
        "{line}"
    );
    let (logs, _) = play(&stopping(&[]), &HILL, None);
    let line = serde_json::to_string(&logs.last().unwrap().round).unwrap();
    assert!(
        line.ends_with(r#""ending":{"cause":"patience","kept_round":5}}"#),
        "{line}"
    );
    let read: RoundRow = serde_json::from_str(&line).unwrap();
    assert_eq!(read, logs.last().unwrap().round);
}
