//! `gleaner report`: make the report of a run again from its logs.

use std::path::PathBuf;
use std::process::ExitCode;

use gleaner_host::report::write_run;
use gleaner_host::run::RunDirectory;

/// Which run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory of the run.
    directory: PathBuf,
}

/// Writes `report.html` and the plots.
///
/// # Errors
/// Names the log and line that cannot be read.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = RunDirectory::new(&args.directory);
    write_run(&directory)?;
    outln!("{}", directory.file(RunDirectory::REPORT).display());
    Ok(ExitCode::SUCCESS)
}
