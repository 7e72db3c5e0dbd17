//! `gleaner resume`: continue a run that was interrupted.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use super::progress::Progress;
use super::simulate::{OutputArgs, show};
use crate::run::{Outcome, RunDirectory, hexadecimal, resume, scenario_of, sha256, summary_of};
use crate::station::execute::BENCH;
use crate::world;

/// Which run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory of the run.
    directory: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// Continues the run; a complete one is only shown again.
///
/// # Errors
/// Whatever is wrong with the run's files.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = RunDirectory::new(&args.directory);
    if directory.file(BENCH).is_file() && !directory.is_complete() {
        return super::run::resume(&directory, args.output);
    }
    let scenario = scenario_of(&directory)?;
    let outcome = if directory.is_complete() {
        if !args.output.quiet {
            eprintln!("{} is complete already", args.directory.display());
        }
        let model = std::fs::read(directory.file(RunDirectory::MODEL))?;
        Outcome {
            summary: summary_of(&directory)?,
            model_sha256: hexadecimal(&sha256(&model)),
            wall: Duration::ZERO,
        }
    } else {
        let data = world::load_data(&scenario)?;
        let mut world = world::build(&scenario, &data, args.output.threads)?;
        drop(data);
        let mut progress = Progress::new(args.output.quiet);
        let outcome = resume(
            &scenario,
            &mut world,
            &directory,
            args.output.threads,
            &mut progress,
        )?;
        progress.finish();
        outcome
    };
    show(&scenario, &directory, &outcome, args.output);
    Ok(ExitCode::SUCCESS)
}
