//! `cargo figures poisoning`: one hostile client among a few, under every rule of aggregation.
//!
//! Compared are test accuracies after the last round: each rule with the hostile client against the
//! same rule without it. The claim is that `median` and `trimmed-mean` lose no more than the
//! tolerance under every attack, that `mean` loses more under every one that is not as long as an
//! honest update, and that the hostile client is named in the first round it takes part in.

use std::collections::BTreeSet;

use gleaner_learn::data::Dataset;
use gleaner_sim::fleet;
use gleaner_sim::report::table::Table;
use gleaner_sim::round::{Engine, environment};
use gleaner_sim::scenario::{Override, Scenario, resolve};
use gleaner_tests::progress;

/// The rules, and whether each is claimed to withstand the attacks; nothing is claimed of some.
const RULES: [(&str, Option<bool>); 5] = [
    ("mean", Some(false)),
    ("clip", None),
    ("median", Some(true)),
    ("trimmed-mean", Some(true)),
    ("krum", None),
];

/// An attack with its factor.
type Attack = (&'static str, f64);

/// The attacks; the first is no longer than an honest update.
const ATTACKS: [Attack; 4] = [
    ("flip", 1.0),
    ("scale", 100.0),
    ("flip", 100.0),
    ("constant", 100.0),
];

/// Rounds, seeds and data of the runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of rounds per run.
    #[arg(long, default_value_t = 50)]
    rounds: usize,
    /// Clients, all of which take part in every round; the last one is hostile.
    #[arg(long, default_value_t = 7)]
    clients: usize,
    /// Samples of each client.
    #[arg(long, default_value_t = 500)]
    samples: usize,
    /// Test images; 0 means all.
    #[arg(long, default_value_t = 0)]
    test_samples: usize,
    /// Learning rate of the clients.
    #[arg(long, default_value_t = 0.1)]
    rate: f64,
    /// Share of a client's samples that are of its own class.
    #[arg(long, default_value_t = 0.4)]
    own: f64,
    /// What clients compute with: `float` or `fixed-point`.
    #[arg(long, default_value = "float")]
    kind: String,
    /// Seed of data, parameters and attack.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The largest loss of accuracy that counts as none, in points.
    #[arg(long, default_value_t = 2.0)]
    tolerance: f64,
}

/// Result of a run.
struct Outcome {
    /// Test accuracy after the last round, in percent.
    accuracy: f64,
    /// Rounds in which each client was named.
    named: Vec<usize>,
    /// Rounds in which the last client took part.
    attacks: usize,
    /// Whether it was named in the first of them.
    at_once: bool,
}

/// Runs every rule under every attack and tells whether the claim holds.
pub fn run(args: &Args) -> bool {
    let data = fleet::load_data(&scenario(args, "mean", None)).expect("the embedded subset");
    let runs = RULES.len() * (1 + ATTACKS.len());
    let bar = progress("runs", runs as u64);
    let run = |rule: &str, attack: Option<Attack>| {
        let outcome = outcome(&scenario(args, rule, attack), &data);
        bar.inc(1);
        outcome
    };
    let mut header = vec!["rule".to_owned(), "no attack %".to_owned()];
    header.extend(ATTACKS.map(|(attack, factor)| format!("{attack} {factor} %")));
    header.push("named in rounds".to_owned());
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = Table::new(&header);
    let (mut failures, mut accused) = (Vec::new(), BTreeSet::new());
    for (rule, withstands) in RULES {
        let honest = run(rule, None);
        accused.extend(named(&honest.named));
        let mut cells = vec![rule.to_owned(), format!("{:.1}", honest.accuracy)];
        let (mut times, mut rounds) = (0, 0);
        for attack in ATTACKS {
            let attacked = run(rule, Some(attack));
            cells.push(format!("{:.1}", attacked.accuracy));
            let lost = honest.accuracy - attacked.accuracy;
            let withstood = lost <= args.tolerance;
            let fails = match withstands {
                Some(true) => !withstood,
                Some(false) => withstood && attack != ATTACKS[0],
                None => false,
            };
            if fails {
                failures.push(format!("{rule} under {attack:?} loses {lost:.1} points"));
            }
            if !attacked.at_once {
                failures.push(format!("{rule} under {attack:?}: not named at once"));
            }
            let (hostile, others) = attacked.named.split_last().expect("clients");
            (times, rounds) = (times + hostile, rounds + attacked.attacks);
            accused.extend(named(others));
        }
        cells.push(format!("{times} of {rounds}"));
        table.row(cells);
    }
    bar.finish_and_clear();
    print!("{}", table.to_text());
    println!("honest clients that were named in some round of some run: {accused:?}");
    failures.iter().for_each(|failure| println!("{failure}"));
    failures.is_empty()
}

/// Returns the clients that were named at all.
fn named(rounds: &[usize]) -> impl Iterator<Item = usize> + use<'_> {
    (0..rounds.len()).filter(|&client| rounds[client] > 0)
}

fn scenario(args: &Args, rule: &str, attack: Option<Attack>) -> Scenario {
    let (clients, samples) = (args.clients as i64, args.samples as f64);
    let mut overrides = vec![
        Override::new("run.seed", args.seed as i64),
        Override::new("run.rounds", args.rounds as i64),
        Override::new("run.evaluate_every", args.rounds as i64),
        Override::new("run.scheduler", "random"),
        Override::new("clients.count", clients),
        Override::new("clients.kind", &*args.kind),
        Override::new("radio.channels", clients),
        Override::new("partition.mean_samples", samples),
        Override::new("partition.std_samples", samples / 10.0),
        Override::new("partition.non_iid_degree", args.own),
        Override::new("learning.learning_rate", args.rate),
        // Then every upload fits, whatever the fading, and about 24 epochs of any size.
        Override::new("device.deadline_s", 0.012),
        Override::new("device.cycles_per_sample", 50_000.0 / samples),
        Override::new("data.test_samples", args.test_samples as i64),
        Override::new("aggregation.rule", rule),
    ];
    if let Some((attack, factor)) = attack {
        overrides.extend([
            Override::new("hostile.clients", 1),
            Override::new("hostile.attack", attack),
            Override::new("hostile.factor", factor),
        ]);
    }
    resolve("paper-mlp", &overrides).expect("a scenario")
}

fn outcome(scenario: &Scenario, data: &Dataset) -> Outcome {
    let mut deployment = fleet::build(scenario, data, 0).expect("a deployment");
    let environment = environment::of(scenario).expect("a world that is drawn");
    let model = deployment.model.clone();
    let (fleet, examiner) = (&mut *deployment.fleet, &*deployment.examiner);
    let mut engine = Engine::new(scenario, fleet, examiner, environment, model);
    let mut outcome = Outcome {
        accuracy: 0.0,
        named: vec![0; scenario.clients.count],
        attacks: 0,
        at_once: false,
    };
    let last = scenario.clients.count - 1;
    while !engine.is_finished() {
        for log in engine.step().expect("a round") {
            let doubts = log.round.anomalies.iter();
            let clients: BTreeSet<usize> = doubts.map(|doubt| doubt.client.index()).collect();
            clients
                .iter()
                .for_each(|&client| outcome.named[client] += 1);
            if log.clients[last].channel.is_some() {
                outcome.at_once |= outcome.attacks == 0 && clients.contains(&last);
                outcome.attacks += 1;
            }
            let accuracy = log.round.accuracy.map(|share| 100.0 * share);
            outcome.accuracy = accuracy.unwrap_or(outcome.accuracy);
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_keeps_the_claim() {
        assert!(run(&Args {
            rounds: 5,
            clients: 7,
            samples: 40,
            test_samples: 500,
            rate: 0.3,
            own: 0.2,
            kind: "float".to_owned(),
            seed: 1,
            // Learning is at its steepest, where a client less costs most.
            tolerance: 10.0,
        }));
    }
}
