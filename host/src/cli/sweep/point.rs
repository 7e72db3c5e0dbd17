//! `gleaner sweep point`: one point, made by whoever is told to.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::cli::progress::Progress;
use crate::cli::{POINT_TAKEN, threads};
use gleaner_experiment::batch::{Making, Plan, PointError, make_point, run_directory};
use gleaner_sim::round::RoundLog;
use gleaner_sim::run::Observer;
use gleaner_station::stop::{INTERRUPTED, Stop};

/// What the exit codes mean to whoever starts workers.
const CODES: &str = "\
A point that is complete is left as it is, one that a worker left behind goes on from its last
checkpoint. The command may be killed at any moment and started anywhere that sees DIR.

Exit codes: 0 the point is complete; 1 it failed, and trying again is of no use before the cause is
mended; 4 another worker is making it; 130 SIGUSR1, SIGTERM or Ctrl-C stopped it at a checkpoint, and
the same command goes on there.";

/// Which point.
#[derive(Debug, clap::Args)]
#[command(after_help = CODES)]
pub struct Args {
    /// The directory of the plan.
    dir: PathBuf,
    /// The point's number in the plan, from 0.
    number: usize,
    /// Threads of the run; 0 means one per processor. Results do not depend on it.
    #[arg(long, value_parser = threads::parse, default_value_t = 1, value_name = "N")]
    threads: usize,
    /// Wait where another worker is making the point, and take over if it dies.
    #[arg(long)]
    wait: bool,
    /// Make the point though another worker is at it: for locks that outlive their owner. Two workers
    /// at one point cost time and do no harm.
    #[arg(long, conflicts_with = "wait")]
    force: bool,
    /// Print nothing but the path of the run.
    #[arg(short, long)]
    quiet: bool,
}

/// Makes the point.
///
/// # Errors
/// A plan that is not there or not as it was written, or whatever stopped the run.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (point, reports) = Plan::read_point(&args.dir, args.number)?;
    let how = Making {
        threads: args.threads,
        reports,
        wait: args.wait,
        force: args.force,
    };
    let mut worker = Worker {
        progress: Progress::new(args.quiet),
        stop: Stop::on_signals(),
    };
    let outcome = make_point(&args.dir, &point, &how, &mut worker);
    worker.progress.finish();
    let code = match outcome {
        Ok(_) => {
            outln!("{}", run_directory(&args.dir, &point).path().display());
            return Ok(ExitCode::SUCCESS);
        }
        Err(PointError::Taken { .. }) => POINT_TAKEN,
        Err(PointError::Paused { .. }) => INTERRUPTED,
        Err(_) => 1,
    };
    if let Err(error) = outcome {
        errln!("point {} ({}): {}", args.number, point.id, error.in_full());
    }
    Ok(ExitCode::from(code))
}

/// Shows the rounds and stops between two of them when asked to.
struct Worker {
    progress: Progress,
    stop: Stop,
}

impl Observer for Worker {
    fn started(&mut self, done: usize, total: usize) {
        self.progress.started(done, total);
    }

    fn round(&mut self, log: &RoundLog) {
        self.progress.round(log);
    }

    fn notice(&mut self, text: &str) {
        self.progress.notice(text);
    }

    fn pauses(&mut self) -> bool {
        self.stop.is_requested()
    }
}
