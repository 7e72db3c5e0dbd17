//! `cargo figures poisoning`: every rule of aggregation under every attack, by one, two and three hostile
//! clients, over three tasks, with all of seven clients in every round and with three of ten.
//!
//! Printed is the test accuracy after the last round, mean and standard deviation over the seeds, and
//! the share of updates that were named as anomalous. `CLAIMS` says what is claimed, and where; of all
//! other cells the table alone speaks.

mod grid;
mod task;

use gleaner_sim::fleet;
use gleaner_sim::report::table::Table;
use strum::VariantArray;

use self::grid::{ATTACKS, Attack, Case, Named, Outcome, ROWS, Row};
use self::task::{Participation, Setting, Task};

/// Epochs of a participant in a round with full participation.
const EPOCHS: u32 = 5;

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
    let or_all = |given: &[Task]| match given {
        [] => Task::VARIANTS.to_vec(),
        some => some.to_vec(),
    };
    let participations = match &*args.participation {
        [] => Participation::VARIANTS,
        some => some,
    };
    let mut failures = Vec::new();
    for task in or_all(&args.task) {
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

/// Mean and standard deviation of the accuracies.
fn accuracy(outcomes: &[Outcome]) -> (f64, f64) {
    let values: Vec<f64> = outcomes.iter().map(|it| it.accuracy).collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (mean, (squares.sum::<f64>() / (count - 1.0).max(1.0)).sqrt())
}

/// Runs and prints one setting; returns the claims that fail.
fn measure(setting: Setting, args: &Args) -> Vec<String> {
    let fits = |row: &Row| row.rule != "krum" || setting.updates() >= 5;
    let rows: Vec<Row> = ROWS.into_iter().filter(fits).collect();
    let data = fleet::load_data(&setting.scenario(rows[0], None, 0)).expect("embedded data");
    let attacks = |hostile: i64| ATTACKS.map(|attack| Some((attack, hostile)));
    let columns: Vec<Option<(Attack, i64)>> = std::iter::once(None)
        .chain((1..=args.hostile).flat_map(attacks))
        .collect();
    let cases: Vec<Case> = (rows.iter())
        .flat_map(|&row| columns.iter().map(move |&attack| (row, attack)))
        .collect();
    let outcomes = grid::run(setting, &data, &cases, args.seeds);
    let of = |row: Row, attack: Option<(Attack, i64)>| -> &[Outcome] {
        let at = cases.iter().position(|case| *case == (row, attack));
        &outcomes[at.expect("a case")]
    };
    let Setting {
        task,
        participation,
        ..
    } = setting;
    let clients = participation.clients();
    let alone = (0..args.seeds)
        .map(|seed| grid::station_alone(&setting.scenario(rows[0], None, seed), &data, EPOCHS));
    let alone = alone.sum::<f64>() / args.seeds as f64;
    println!("\n{task}, {participation}: {alone:.1} % by the station's own 100 samples alone");
    for hostile in 1..=args.hostile {
        println!("\n{task}, {participation}, {hostile} hostile of {clients}");
        let mut header = vec!["rule".to_owned(), "no attack".to_owned()];
        header.extend(ATTACKS.map(|(attack, factor)| format!("{attack} {factor}")));
        let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
        for &row in &rows {
            let cell = |attack| {
                let (mean, deviation) = accuracy(of(row, attack));
                format!("{mean:.1}±{deviation:.1}")
            };
            let mut cells = vec![row.name(), cell(None)];
            cells.extend(attacks(hostile).map(cell));
            table.row(cells);
        }
        for row in rows
            .iter()
            .filter(|row| ["mean", "fltrust"].contains(&row.rule))
        {
            let cell = |attack| {
                let (mut hostile, mut honest) = (Named::default(), Named::default());
                for outcome in of(*row, attack) {
                    hostile.add(outcome.hostile);
                    honest.add(outcome.honest);
                }
                format!("{:.0}/{:.0}", hostile.percent(), honest.percent())
            };
            let mut cells = vec![format!("named by {}, %", row.name()), cell(None)];
            cells.extend(attacks(hostile).map(cell));
            table.row(cells);
        }
        print!("{}", table.to_text());
    }
    claims(setting, of, args)
}

/// Returns the claims that do not hold.
fn claims<'a>(
    setting: Setting,
    of: impl Fn(Row, Option<(Attack, i64)>) -> &'a [Outcome],
    args: &Args,
) -> Vec<String> {
    let [mean, bounded] = [ROWS[0], ROWS[1]];
    let mut failures = Vec::new();
    let same = of(mean, None).iter().zip(of(bounded, None));
    if same
        .into_iter()
        .any(|(one, other)| one.model != other.model)
    {
        failures.push(format!("{setting:?}: the bound changes an honest run"));
    }
    let _ = args;
    failures
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
