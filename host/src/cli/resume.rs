//! `gleaner resume`: continue a run that was interrupted.

use std::path::PathBuf;
use std::process::ExitCode;

use super::allow::AllowArgs;
use super::record::Recorder;
use super::run::{LineArgs, judge, write_report};
use super::simulate::{OutputArgs, carry_out, show};
use gleaner_sim::report::write_tensorboard;
use gleaner_sim::run::{Completed, RunDirectory, scenario_of};
use gleaner_station::fleet_file::find_in;

/// Continue an interrupted run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory of the run.
    directory: PathBuf,
    /// A newer list of the same boards, whose keys to use: keys may have been rotated since the run
    /// began.
    #[arg(long, value_name = "FILE")]
    fleet: Option<PathBuf>,
    #[command(flatten)]
    allow: AllowArgs,
    #[command(flatten)]
    line: LineArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Continues the run; a complete one is only shown again, with a report if it has none yet.
///
/// # Errors
/// Whatever is wrong with the run's files.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = RunDirectory::new(&args.directory);
    if find_in(directory.path()).is_file() && !directory.is_complete() {
        let newer = args.fleet.as_deref();
        return super::run::resume(&directory, newer, args.allow, args.line, args.output);
    }
    let scenario = scenario_of(&directory)?;
    let outcome = if directory.is_complete() {
        if !args.output.quiet {
            errln!("{} is complete already", args.directory.display());
        }
        if !directory.file(RunDirectory::REPORT).is_file() {
            write_report(&directory)?;
        }
        if args.output.tensorboard {
            write_tensorboard(&directory)?;
        }
        Completed::read(&directory)?
    } else {
        let file = directory.file(RunDirectory::SCENARIO);
        args.allow.check(file, &scenario, &[])?;
        let mut observer = Recorder::new(None, &directory, args.output.quiet)?;
        carry_out(&scenario, None, &directory, args.output, &mut observer)?
    };
    show(&scenario, &directory, &outcome, args.output)?;
    judge(&directory)
}
