//! `gleaner verify`: replays a run over real links from its event log.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;

use super::progress::Progress;
use super::threads;
use gleaner_sim::run::RunDirectory;
use gleaner_station::execute::verify_before;
use gleaner_station::log::EVENTS;

/// Which run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory of a complete run of `gleaner run`.
    directory: PathBuf,
    /// Threads that train; 0 means one per processor.
    #[arg(long, value_parser = threads::parse, default_value_t = 0, value_name = "N")]
    threads: usize,
}

/// Runs `gleaner verify`; exit code 1 means that the replay ended with another model.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = RunDirectory::new(&args.directory);
    ensure!(
        directory.file(EVENTS).is_file(),
        "{} holds no {EVENTS}: only runs of `gleaner run` and `gleaner emulate --run` can be replayed",
        args.directory.display()
    );
    // Where there is no bar, the verdict is all there is to say.
    let mut progress = Progress::new(!std::io::stderr().is_terminal());
    let verdict = verify_before(&mut progress, &directory, args.threads);
    progress.finish();
    let verdict = verdict?;
    outln!("orders    {} replayed", verdict.orders);
    for (client, updates) in &verdict.inexact {
        outln!(
            "          client {client}: {updates} could not be recomputed (it does not train in \
             the firmware's arithmetic) and were taken as it sent them"
        );
    }
    outln!("recorded  sha256 {}", verdict.recorded);
    outln!("replayed  sha256 {}", verdict.replayed);
    if verdict.recorded == verdict.replayed {
        outln!("the log leads to the model of the run");
        Ok(ExitCode::SUCCESS)
    } else {
        outln!("the log leads to ANOTHER model");
        Ok(ExitCode::FAILURE)
    }
}
