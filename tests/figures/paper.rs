//! `cargo figures paper`: the preset of the CNN against the statistics that the paper prints.
//!
//! Without data and in seconds: 2000 rounds of random scheduling with the printed numbers of samples. Its
//! schedules follow from channel and costs alone, so that its clients need not train. Then every committed
//! row: whole, and of a scenario that the program has today; the long runs of the paper's three schedulers
//! are shown beside the printed figures, and a difference is a result, not a failure. With `--again N` rows
//! are also executed again, which needs CIFAR-10.

use std::path::{Path, PathBuf};

use gleaner_experiment::reproduce::{
    Activity, Choice, Network, Planned, Progress, Reproduction, Rows, Scale, paper,
};
use gleaner_experiment::{EngineOptions, Keep, Points, run as execute};
use gleaner_sim::policy::Scheduler;
use gleaner_sim::round::{ClientState, Engine, environment};
use gleaner_sim::scenario::{Override, resolve};

use crate::causality::{NoTest, Parabolas};

/// Largest difference to the printed clients per round and epochs of an update, as a share.
const TOLERANCE: f64 = 0.04;
/// Rounds of the paper's table.
const ROUNDS: usize = 2000;

/// Rows, and how many of them are executed again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory of the committed rows.
    #[arg(long, default_value = "docs/results/reproduction/rows")]
    rows: PathBuf,
    /// Execute the first N rows of the CNN again, and compare.
    #[arg(long, default_value_t = 0, value_name = "N")]
    again: usize,
    /// Directory of the runs that are executed again.
    #[arg(long, default_value = "runs/paper")]
    out: PathBuf,
}

/// Prints printed figures beside those found, and tells whether they agree.
pub fn run(args: &Args) -> bool {
    println!(
        "{:<34} {:>6}  {:>6}  {:>6}",
        "figure", "paper", "found", "ratio"
    );
    let random = random();
    let mut holds = compare("random, clients do not train", Scheduler::Random, random);
    match Rows::read(&args.rows) {
        Ok(rows) => holds &= rows_hold(args, rows),
        Err(error) => {
            println!("{error}");
            holds = false;
        }
    }
    holds
}

/// Runs random scheduling under the preset, by clients that learn something else at no cost.
fn random() -> Activity {
    let rounds = i64::try_from(ROUNDS).unwrap_or(i64::MAX);
    let sets = [
        Override::new("run.scheduler", "random"),
        Override::new("run.rounds", rounds),
        Override::new("baselines.power", "max"),
    ];
    let scenario = resolve("paper-cnn", &sets).expect("the preset resolves");
    let environment = environment::of(&scenario).expect("a channel that is drawn");
    let mut fleet = Parabolas(paper().samples.clone());
    let mut engine = Engine::new(&scenario, &mut fleet, &NoTest, environment, vec![0.0; 2]);
    let (mut schedules, mut epochs) = (0, 0);
    while !engine.is_finished() {
        for log in engine.step().expect("a round that can be planned") {
            let clients = log.clients.iter();
            for row in clients.filter(|it| it.round > 0 && it.state == ClientState::Trained) {
                schedules += 1;
                epochs += row.epochs;
            }
        }
    }
    Activity {
        clients: f64::from(schedules) / ROUNDS as f64,
        epochs: f64::from(epochs) / f64::from(schedules.max(1)),
    }
}

/// Prints both figures of an activity and tells whether they are near the printed ones.
fn compare(name: &str, scheduler: Scheduler, found: Activity) -> bool {
    let statistics = &paper().statistics;
    let Some(printed) = statistics.iter().find(|it| it.algorithm == scheduler) else {
        return true;
    };
    let printed = printed.activity();
    let mut holds = true;
    for (figure, theirs, ours) in [
        ("clients", printed.clients, found.clients),
        ("epochs", printed.epochs, found.epochs),
    ] {
        let ratio = ours / theirs;
        let name = format!("{name}: {figure}");
        println!("{name:<34} {theirs:>6.3}  {ours:>6.3}  {ratio:>6.3}");
        let near = (ratio - 1.0).abs() <= TOLERANCE;
        if !near {
            println!("more than {:.0} % from the paper", 100.0 * TOLERANCE);
        }
        holds &= near;
    }
    holds
}

/// Checks the committed rows.
fn rows_hold(args: &Args, rows: Rows) -> bool {
    for (path, setting) in rows.stale() {
        println!(
            "{} is of another scenario than today's {setting}",
            path.display()
        );
    }
    println!("{} rows hold, {} stale", rows.count(), rows.stale().len());
    let is_current = rows.stale().is_empty();
    let reproduction = Reproduction {
        choice: Choice {
            networks: vec![Network::Cnn],
            ..Choice::default()
        },
        rows,
        ..Reproduction::all(Scale::Medium)
    };
    let mut chosen = reproduction.chosen().expect("presets resolve");
    chosen.retain(|it| reproduction.progress(it, Path::new("")) == Progress::Row);
    for planned in &chosen {
        let is_long = planned.point().scenario.run.rounds == ROUNDS;
        if let Some(run) = reproduction
            .rows
            .get(&planned.point().id)
            .filter(|_| is_long)
        {
            compare(&planned.name(), planned.scheduler(), run.activity());
        }
    }
    chosen.truncate(args.again);
    is_current & again(&args.out, &reproduction, &chosen)
}

/// Executes runs that have rows again, and tells whether the results are those of the rows.
fn again(out: &Path, reproduction: &Reproduction, chosen: &[Planned]) -> bool {
    let points = Points {
        name: "paper".to_owned(),
        keep: Keep::Logs,
        points: chosen.iter().map(|it| it.point().clone()).collect(),
    };
    if points.points.is_empty() {
        return true;
    }
    let executed = execute(&points, out, &EngineOptions::local(0), &mut ());
    if let Err(error) = executed.and_then(|runs| runs.complete()) {
        println!("{error}");
        return false;
    }
    let same = |planned: &&Planned| reproduction.matches_row(planned, out).unwrap_or(false);
    let count = chosen.iter().filter(same).count();
    println!("{count} of {} as in their rows", chosen.len());
    count == chosen.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_scheduling_is_as_active_as_printed_and_committed_rows_hold() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert!(run(&Args {
            rows: root.join("docs/results/reproduction/rows"),
            again: 0,
            out: PathBuf::new(),
        }));
    }
}
