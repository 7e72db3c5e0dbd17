//! Accuracy against epsilon, by number of clients, scheduler and noise.
//!
//! The claim: in every row the logged epsilon is that of the accountant, it falls as noise rises, and noise
//! costs the fewest clients most.

use gleaner_learn::data::Dataset;
use gleaner_learn::privacy::Mechanism;
use gleaner_sim::fleet;
use gleaner_sim::report::table::Table;
use gleaner_sim::round::{Engine, PrivacyRow, environment};
use gleaner_sim::scenario::{Override, Scenario, resolve};
use gleaner_tests::progress;

use super::Args;

/// The schedulers, each with the bound on its updates: about the length of an early one.
const SCHEDULERS: [(&str, f64); 2] = [("random", 0.3), ("glean", 0.1)];

/// Result of a run.
struct Outcome {
    /// Test accuracy after the last round, in percent.
    accuracy: f64,
    privacy: Option<PrivacyRow>,
    orders: u32,
}

/// Prints the table and tells whether the claim holds.
pub fn run(args: &Args) -> bool {
    let data = fleet::load_data(&scenario(args, 10, SCHEDULERS[0], None, 0)).expect("the data");
    let cells = args.clients.len() * SCHEDULERS.len() * (1 + args.noise.len());
    let bar = progress("runs", cells as u64 * u64::from(args.seeds));
    let mut table = Table::new(&[
        "clients",
        "a round",
        "scheduler",
        "noise multiplier",
        "epsilon",
        "if participants are known",
        "accuracy %",
    ]);
    let (mut failures, mut lost) = (Vec::new(), Vec::new());
    for &clients in &args.clients {
        for scheduler in SCHEDULERS {
            let mut bounded = None;
            let mut last = f64::INFINITY;
            for noise in std::iter::once(None).chain(args.noise.iter().copied().map(Some)) {
                let outcomes: Vec<Outcome> = (0..args.seeds)
                    .map(|seed| {
                        let scenario = scenario(args, clients, scheduler, noise, seed);
                        let outcome = outcome(&scenario, &data);
                        bar.inc(1);
                        outcome
                    })
                    .collect();
                let count = outcomes.len() as f64;
                let accuracy = outcomes.iter().map(|it| it.accuracy).sum::<f64>() / count;
                // The worst of the seeds.
                let worst = |of: fn(&PrivacyRow) -> Option<f64>| {
                    let rows = outcomes.iter().filter_map(|it| it.privacy.as_ref());
                    rows.filter_map(of).reduce(f64::max)
                };
                let epsilon = worst(|row| Some(row.epsilon));
                let known = worst(|row| row.epsilon_if_known);
                if noise == Some(0.0) {
                    bounded = Some(accuracy);
                }
                if let (Some(multiplier), Some(epsilon)) = (noise, epsilon) {
                    let most = outcomes.iter().map(|it| it.orders).max().unwrap_or(0);
                    let expected = match scheduler.0 {
                        "random" => Mechanism::sampled(multiplier, participants(clients), clients)
                            .epsilon(args.rounds as u32, args.delta),
                        _ => Mechanism::gaussian(multiplier).epsilon(most, args.delta),
                    };
                    if epsilon != expected || epsilon >= last {
                        failures.push(format!(
                            "{clients} {}: epsilon {epsilon}, {expected} expected, {last} before",
                            scheduler.0
                        ));
                    }
                    last = epsilon;
                    if Some(&multiplier) == args.noise.last() {
                        lost.push((clients, bounded.unwrap_or(100.0) - accuracy));
                    }
                }
                let or_none = |value: Option<f64>, none: &str| {
                    value.map_or(none.to_owned(), |value| format!("{value:.2}"))
                };
                table.row(vec![
                    clients.to_string(),
                    participants(clients).to_string(),
                    scheduler.0.to_owned(),
                    noise.map_or("no privacy".to_owned(), |noise| match noise > 0.0 {
                        true => noise.to_string(),
                        false => "bound alone".to_owned(),
                    }),
                    or_none(epsilon, "none"),
                    or_none(known, ""),
                    format!("{accuracy:.1}"),
                ]);
            }
        }
    }
    bar.finish_and_clear();
    print!("{}", table.to_text());
    let mean = |clients: Option<&usize>| {
        let of = lost.iter().filter(|(count, _)| Some(count) == clients);
        let points: Vec<f64> = of.map(|(_, points)| *points).collect();
        points.iter().sum::<f64>() / points.len() as f64
    };
    let (few, many) = (
        mean(args.clients.iter().min()),
        mean(args.clients.iter().max()),
    );
    println!("the most noise costs the fewest clients {few:.1} points, the most clients {many:.1}");
    if few <= many {
        failures.push("noise does not cost the fewest clients most".to_owned());
    }
    failures.iter().for_each(|failure| println!("{failure}"));
    failures.is_empty()
}

/// Returns the participants of a round.
pub(super) const fn participants(clients: usize) -> usize {
    let share = if clients < 100 {
        clients / 3
    } else {
        clients / 10
    };
    if share > 0 { share } else { 1 }
}

/// Returns a scenario of few local epochs; `noise` is `None` without privacy.
pub(super) fn scenario(
    args: &Args,
    clients: usize,
    (scheduler, bound): (&str, f64),
    noise: Option<f64>,
    seed: u32,
) -> Scenario {
    let samples = args.samples as f64 / clients as f64;
    let mut overrides = vec![
        Override::new("run.seed", i64::from(seed)),
        Override::new("run.rounds", args.rounds as i64),
        Override::new("run.evaluate_every", args.rounds as i64),
        Override::new("run.scheduler", scheduler),
        Override::new("clients.count", clients as i64),
        Override::new("radio.channels", participants(clients) as i64),
        Override::new("partition.mean_samples", samples),
        Override::new("partition.std_samples", samples / 10.0),
        Override::new("learning.learning_rate", 0.1),
        // Then every upload fits, whatever the fading, and about five epochs of any size.
        Override::new("device.deadline_s", 0.012),
        Override::new("device.cycles_per_sample", 240_000.0 / samples),
        // Nobody waits for energy, which would decide who takes part.
        Override::new("device.harvest_j", 1.0),
        Override::new("data.dataset", &*args.dataset),
        Override::new("data.test_samples", args.test_samples as i64),
    ];
    if let Some(noise) = noise {
        overrides.extend([
            Override::new("privacy.clip", bound),
            Override::new("privacy.noise_multiplier", noise),
            Override::new("privacy.delta", args.delta),
        ]);
    }
    resolve("paper-mlp", &overrides).expect("a scenario")
}

fn outcome(scenario: &Scenario, data: &Dataset) -> Outcome {
    let mut deployment = fleet::build(scenario, data, 1).expect("a deployment");
    let environment = environment::of(scenario).expect("gains that are drawn");
    let model = deployment.model.clone();
    let (fleet, examiner) = (&mut *deployment.fleet, &*deployment.examiner);
    let mut engine = Engine::new(scenario, fleet, examiner, environment, model);
    let (mut outcome, mut orders) = (
        Outcome {
            accuracy: 0.0,
            privacy: None,
            orders: 0,
        },
        vec![0; scenario.clients.count],
    );
    while !engine.is_finished() {
        for log in engine.step().expect("a round") {
            let accuracy = log.round.accuracy.map(|share| 100.0 * share);
            outcome.accuracy = accuracy.unwrap_or(outcome.accuracy);
            outcome.privacy = log.round.privacy;
            for row in log.clients.iter().filter(|row| row.channel.is_some()) {
                orders[row.client.index()] += 1;
            }
        }
    }
    outcome.orders = orders.into_iter().max().unwrap_or(0);
    outcome
}
