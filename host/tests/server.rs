//! The server's step on real clients: float and fixed-point, interrupted or not, on one thread and two.

use gleaner_sim::fleet;
use gleaner_sim::round::{Engine, State, environment};
use gleaner_sim::scenario::{Override, Scenario, resolve};

fn scenario(kind: &str, rule: &str, rounds: i64) -> Scenario {
    let overrides = [
        Override::new("run.scheduler", "random"),
        Override::new("run.rounds", rounds),
        Override::new("run.evaluate_every", rounds),
        Override::new("clients.kind", kind),
        Override::new("partition.mean_samples", 60.0),
        Override::new("partition.std_samples", 10.0),
        // An epoch takes as long as that of 1000 samples, so as few fit in a round.
        Override::new("device.cycles_per_sample", 1_667.0),
        Override::new("data.test_samples", 300),
        Override::new("learning.learning_rate", 0.05),
        Override::new("server.rule", rule),
    ];
    resolve("paper-mlp", &overrides).unwrap()
}

/// Runs to the end, stopping after `pause` rounds to go on from bytes with new clients.
fn run(scenario: &Scenario, threads: usize, pause: Option<u32>) -> (State, f64) {
    let data = fleet::load_data(scenario).unwrap();
    let mut saved: Option<State> = None;
    loop {
        let mut clients = fleet::build(scenario, &data, threads).unwrap();
        let (members, examiner) = (&mut *clients.fleet, &*clients.examiner);
        let environment = environment::of(scenario).unwrap();
        let resumed = saved.is_some();
        let mut engine = match saved.take() {
            None => Engine::new(scenario, members, examiner, environment, clients.model),
            Some(state) => Engine::resume(scenario, members, examiner, environment, state).unwrap(),
        };
        let mut accuracy = 0.0;
        while !engine.is_finished() && (resumed || pause != Some(engine.state().round())) {
            for log in engine.step().unwrap() {
                accuracy = log.round.accuracy.unwrap_or(accuracy);
            }
        }
        if engine.is_finished() {
            return (engine.state().clone(), accuracy);
        }
        let bytes = postcard::to_allocvec(&engine.checkpoint()).unwrap();
        saved = Some(postcard::from_bytes(&bytes).unwrap());
    }
}

#[test]
fn a_resumed_run_and_one_on_two_threads_end_with_the_bits_of_one_in_one_go() {
    for kind in ["float", "fixed-point"] {
        for rule in ["spectral", "momentum"] {
            let scenario = scenario(kind, rule, 6);
            let (whole, accuracy) = run(&scenario, 1, None);
            for (threads, pause) in [(1, Some(4)), (2, None), (2, Some(1))] {
                let (state, again) = run(&scenario, threads, pause);
                assert_eq!(state.model(), whole.model(), "{kind} {rule} {threads}");
                assert_eq!(again, accuracy);
            }
        }
    }
}

#[test]
fn the_spectral_step_learns_in_few_rounds_what_the_plain_one_does_not() {
    for kind in ["float", "fixed-point"] {
        let (_, spectral) = run(&scenario(kind, "spectral", 25), 0, None);
        let (_, plain) = run(&scenario(kind, "plain", 25), 0, None);
        assert!(spectral > 0.75, "{kind}: {spectral}");
        assert!(spectral > plain, "{kind}: {spectral} {plain}");
    }
}
