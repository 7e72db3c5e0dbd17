//! The server's step on clients that train.

use gleaner_sim::fleet;
use gleaner_sim::round::{Engine, environment};
use gleaner_sim::scenario::{Override, resolve};

const ROUNDS: i64 = 25;

/// Returns the accuracy after the last round.
fn accuracy(kind: &str, rule: &str) -> f64 {
    let overrides = [
        Override::new("run.scheduler", "random"),
        Override::new("run.rounds", ROUNDS),
        Override::new("run.evaluate_every", ROUNDS),
        Override::new("clients.kind", kind),
        Override::new("partition.mean_samples", 60.0),
        Override::new("partition.std_samples", 10.0),
        // An epoch takes as long as one of 1000 samples, so as few fit into a round.
        Override::new("device.cycles_per_sample", 1_667.0),
        Override::new("data.test_samples", 300),
        Override::new("learning.learning_rate", 0.05),
        Override::new("server.rule", rule),
    ];
    let scenario = resolve("paper-mlp", &overrides).unwrap();
    let data = fleet::load_data(&scenario).unwrap();
    let mut clients = fleet::build(&scenario, &data, 0).unwrap();
    let (members, examiner) = (&mut *clients.fleet, &*clients.examiner);
    let environment = environment::of(&scenario).unwrap();
    let mut engine = Engine::new(&scenario, members, examiner, environment, clients.model);
    let mut accuracy = None;
    while !engine.is_finished() {
        for log in engine.step().unwrap() {
            accuracy = log.round.accuracy.or(accuracy);
        }
    }
    accuracy.unwrap()
}

#[test]
fn the_spectral_step_learns_in_few_rounds_and_more_than_the_plain_one() {
    for kind in ["float", "fixed-point"] {
        let (spectral, plain) = (accuracy(kind, "spectral"), accuracy(kind, "plain"));
        assert!(spectral > 0.75, "{kind}: {spectral}");
        assert!(spectral > plain, "{kind}: {spectral} {plain}");
    }
}
