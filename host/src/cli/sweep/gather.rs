//! `gleaner sweep gather`: the table of the points that are there, and the best of them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;

use gleaner_experiment::batch::{self, Outcome, Plan, PointError};
use gleaner_experiment::compare::Statistic;
use gleaner_experiment::sweep::{Best, NoChoice, choose, csv};
use gleaner_files::write_atomically;
use gleaner_sim::report::counted;

/// Which sweep.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory of the plan.
    dir: PathBuf,
    /// Print nothing but the path of the CSV.
    #[arg(short, long)]
    quiet: bool,
}

/// Gathers; points that are missing are named, the others are in the table all the same.
///
/// # Errors
/// A plan that is not there or not as it was written, or a table that cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let plan = Plan::read(&args.dir)?;
    let outcomes = batch::gather(&plan, &args.dir);
    show(&args.dir, &plan, &outcomes, args.quiet)
}

/// Writes and shows what the points came to.
///
/// # Errors
/// Names the file that cannot be written.
pub fn show(
    dir: &Path,
    plan: &Plan,
    outcomes: &[Outcome],
    quiet: bool,
) -> anyhow::Result<ExitCode> {
    let (mut done, mut missing, mut failed) = (Vec::new(), 0, 0);
    for (number, (point, outcome)) in plan.points().iter().zip(outcomes).enumerate() {
        match outcome {
            Ok(summary) => done.push((point, summary)),
            Err(error) => {
                match error {
                    PointError::Missing | PointError::Begun { .. } => missing += 1,
                    _ => failed += 1,
                }
                errln!("point {number} ({}): {}", point.id, error.in_full());
            }
        }
    }
    let write = |name: &str, text: String| {
        let file = dir.join(name);
        let written = write_atomically(&file, text.as_bytes());
        written.map_err(|error| anyhow!("cannot write {error}"))?;
        Ok::<_, anyhow::Error>(file)
    };
    let table = write("sweep.csv", csv(&done))?;
    let choice = match missing + failed {
        0 => choose(&done),
        _ => Err(NoChoice::Incomplete),
    };
    let json = match &choice {
        Ok(best) => serde_json::to_value(best)?,
        Err(why) => serde_json::json!({ "chosen_by": null, "why": why.to_string() }),
    };
    write("best.json", format!("{json:#}\n"))?;
    outln!("{}", table.display());
    match (&choice, quiet) {
        (_, true) => {}
        (Ok(best), false) => outln!("{}", described(best)),
        (Err(why), false) => errln!("{why}"),
    }
    if missing + failed == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    errln!(
        "{missing} missing and {failed} failed of {}; fix the cause and repeat with --resume, or \
         make them with `gleaner sweep point {} N`",
        counted(outcomes.len(), "point"),
        dir.display()
    );
    Ok(ExitCode::FAILURE)
}

/// Says which combination is best, by what, and only then how it tests.
fn described(best: &Best) -> String {
    let values: Vec<String> = best
        .values
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    let seeds = best.points.len();
    let share = |spread: gleaner_experiment::sweep::Spread| {
        let statistic = Statistic {
            count: seeds,
            mean: spread.mean,
            deviation: spread.deviation,
        };
        statistic.text(100.0, 1)
    };
    format!(
        "best of {}: {}  validation {} % over {}; it tests at {} %",
        counted(best.combinations, "combination"),
        if values.is_empty() {
            "the only one".to_owned()
        } else {
            values.join(", ")
        },
        share(best.validation_accuracy),
        counted(seeds, "seed"),
        share(best.test_accuracy)
    )
}
