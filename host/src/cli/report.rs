//! `gleaner report`: make the reports of runs again from their logs.

use std::path::PathBuf;
use std::process::ExitCode;

use super::run::{show_boards, write_report};
use gleaner_sim::report::write_tensorboard;
use gleaner_sim::run::{Completed, RunDirectory, scenario_of};
use gleaner_station::BoardsReport;

/// Regenerate the reports of runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directories of runs.
    #[arg(required = true)]
    directories: Vec<PathBuf>,
    /// Write the rounds for TensorBoard as well: `tensorboard --logdir DIR`.
    #[arg(long)]
    tensorboard: bool,
    /// Print what each run came to as a line of JSON, as `gleaner simulate --json` does, and write
    /// nothing.
    #[arg(long, conflicts_with = "tensorboard")]
    json: bool,
}

/// Writes `report.html` and the plots, or prints the figures.
///
/// # Errors
/// Names the log and line that cannot be read.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    for directory in args.directories.iter().map(RunDirectory::new) {
        if args.json {
            let scenario = scenario_of(&directory)?;
            let complete = Completed::read(&directory)?;
            let boards = BoardsReport::read(&directory)?;
            let json = super::simulate::json(&scenario, &directory, &complete, boards.as_ref());
            outjson!(json);
            continue;
        }
        write_report(&directory)?;
        outln!("{}", directory.file(RunDirectory::REPORT).display());
        if let Some(boards) = BoardsReport::read(&directory)? {
            show_boards(&boards)?;
        }
        if args.tensorboard {
            outln!("{}", write_tensorboard(&directory)?.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}
