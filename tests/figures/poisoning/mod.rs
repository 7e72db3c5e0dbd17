//! `cargo figures poisoning`: every rule of aggregation under every attack, by one, two and three hostile
//! clients, over three tasks, with all of seven clients in every round and with three of ten.
//!
//! For each setting it prints three tables: the test accuracy after the last round, its standard
//! deviation over the seeds, and the share of updates that were named as anomalous. `claims.rs` says
//! what is claimed, and where; of all other cells the tables alone speak.

mod claims;
mod grid;
mod tables;
mod task;

use gleaner_sim::fleet;
use strum::VariantArray;

use self::grid::{ATTACKS, Attack, Case, Outcome, ROWS, Row};
use self::task::{Participation, Setting, Task};

/// Seeds that accuracies are judged by.
const WHOLE: u64 = 5;

/// Settings and seeds of the runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Tasks; all if none is given.
    #[arg(long, value_enum)]
    task: Vec<Task>,
    /// Participation; both if none is given.
    #[arg(long, value_enum)]
    participation: Vec<Participation>,
    /// Largest number of hostile clients.
    #[arg(long, default_value_t = 3)]
    hostile: i64,
    /// Number of seeds, from 0.
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Number of rounds, if not the task's own.
    #[arg(long)]
    rounds: Option<i64>,
}

/// Runs all settings and tells whether the claims hold.
pub fn run(args: &Args) -> bool {
    let tasks = match &*args.task {
        [] => Task::VARIANTS,
        some => some,
    };
    let participations = match &*args.participation {
        [] => Participation::VARIANTS,
        some => some,
    };
    let mut failures = Vec::new();
    for &task in tasks {
        for &participation in participations {
            let setting = Setting {
                task,
                participation,
                rounds: args.rounds,
            };
            failures.extend(measure(setting, args));
        }
    }
    failures.iter().for_each(|failure| println!("{failure}"));
    failures.is_empty()
}

/// The outcomes of a setting, over the seeds of each case.
pub struct Measured {
    setting: Setting,
    rows: Vec<Row>,
    cases: Vec<Case>,
    outcomes: Vec<Vec<Outcome>>,
}

impl Measured {
    /// Returns the outcomes of a row under an attack, by seed.
    fn of(&self, row: Row, attack: Option<(Attack, i64)>) -> &[Outcome] {
        let at = self.cases.iter().position(|case| *case == (row, attack));
        &self.outcomes[at.expect("a case")]
    }

    /// Returns the mean accuracy of a row under an attack, and its standard deviation.
    fn accuracy(&self, row: Row, attack: Option<(Attack, i64)>) -> (f64, f64) {
        let outcomes = self.of(row, attack);
        let count = outcomes.len() as f64;
        let mean = outcomes.iter().map(|it| it.accuracy).sum::<f64>() / count;
        let squares = outcomes.iter().map(|it| (it.accuracy - mean).powi(2));
        (mean, (squares.sum::<f64>() / (count - 1.0).max(1.0)).sqrt())
    }
}

/// Runs and prints one setting; returns the claims that fail.
fn measure(setting: Setting, args: &Args) -> Vec<String> {
    let fits = |row: &Row| row.rule != "krum" || setting.updates() >= 5;
    let rows: Vec<Row> = ROWS.into_iter().filter(fits).collect();
    let data = fleet::load_data(&setting.scenario(rows[0], None, 0)).expect("embedded data");
    let attacks = |hostile| ATTACKS.map(|attack| Some((attack, hostile)));
    let cases: Vec<Case> = (rows.iter())
        .flat_map(|&row| {
            let hostile = (1..=args.hostile).flat_map(attacks);
            std::iter::once(None)
                .chain(hostile)
                .map(move |it| (row, it))
        })
        .collect();
    let measured = Measured {
        setting,
        rows,
        outcomes: grid::run(setting, &data, &cases, args.seeds),
        cases,
    };
    tables::print(&measured, args.hostile);
    let alone = grid::station_alone(setting, &data, args.seeds);
    println!("\nThe station's own samples alone: {alone:.1} %.");
    let harmless = grid::harmless_bound(setting, &data, args.seeds);
    println!("Honest runs are the same to the bit with a norm bound of {harmless} or more.");
    let whole = args.rounds.is_none() && args.seeds >= WHOLE;
    claims::failures(&measured, args.hostile, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_keeps_the_claims() {
        assert!(run(&Args {
            task: vec![Task::Shards],
            participation: vec![],
            hostile: 1,
            seeds: 1,
            rounds: Some(6),
        }));
    }
}
