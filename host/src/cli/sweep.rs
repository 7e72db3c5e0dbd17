//! `gleaner sweep`: a grid of keys and seeds, one tidy CSV.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};

use super::gather::Gathering;
use super::threads;
use crate::explain;
use gleaner_host::report::counted;
use gleaner_host::run::RunDirectory;
use gleaner_host::study::sweep::{Sweep, csv};
use gleaner_host::study::{PlannedRun, run_all};
use gleaner_learn::file::write_atomically;

/// Which sweep.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The sweep file.
    file: PathBuf,
    /// Directory of the sweep; by default runs/ and the name of the file.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run only what is missing in a directory that exists already.
    #[arg(long)]
    resume: bool,
    /// Threads in all; 0 means one per processor. Results do not depend on it.
    #[arg(long, value_parser = threads::parse, default_value_t = 0, value_name = "N")]
    threads: usize,
    /// Print nothing but the path of the CSV.
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the sweep; points that failed are named, the others are gathered all the same.
///
/// # Errors
/// A wrong sweep file, or a directory that is in use.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let points = Sweep::read(&args.file)?
        .points()
        .with_context(|| args.file.display().to_string())?;
    let stem = args.file.file_stem().unwrap_or_default();
    let directory = RunDirectory::new(
        args.out
            .clone()
            .unwrap_or_else(|| PathBuf::from("runs").join(stem)),
    );
    if !args.resume && !directory.is_vacant() {
        bail!(
            "{} is not empty; add --resume to run only what is missing there, or choose another \
             --out",
            directory.path().display()
        );
    }
    let runs: Vec<PlannedRun> = points
        .iter()
        .map(|point| PlannedRun {
            scenario: point.scenario.clone(),
            directory: RunDirectory::new(directory.file("points").join(&point.id)),
        })
        .collect();
    let mut gathering = Gathering::new(args.quiet, runs.len());
    let outcomes = run_all(&runs, args.threads, |at, result| {
        let summary = result.as_ref().map(|completed| &completed.summary);
        gathering.finished(&runs[at], summary.ok());
    });
    gathering.end();

    let mut done = Vec::new();
    let mut failed = 0;
    for (point, outcome) in points.into_iter().zip(outcomes) {
        match outcome {
            Ok(outcome) => done.push((point, outcome.summary)),
            Err(error) => {
                failed += 1;
                errln!("point {}: {}", point.id, explain(&error.into()));
            }
        }
    }
    std::fs::create_dir_all(directory.path())
        .with_context(|| format!("cannot create {}", directory.path().display()))?;
    let file = directory.file("sweep.csv");
    write_atomically(&file, csv(&done).as_bytes())
        .map_err(|error| anyhow!("cannot write {error}"))?;
    outln!("{}", file.display());
    if failed > 0 {
        errln!(
            "{} failed; fix the cause and repeat with --resume",
            counted(failed, "point")
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
