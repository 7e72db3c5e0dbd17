//! `gleaner verify`: replays a run of `gleaner run` from its event log.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;

use super::progress::Progress;
use super::run::{judge, show_boards};
use super::threads;
use gleaner_sim::run::RunDirectory;
use gleaner_station::BoardsReport;
use gleaner_station::execute::verify_before;
use gleaner_station::log::EVENTS;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory of a complete run of `gleaner run`.
    directory: PathBuf,
    /// Threads that train; 0 means one per processor.
    #[arg(long, value_parser = threads::parse, default_value_t = 0, value_name = "N")]
    threads: usize,
}

/// Runs `gleaner verify`; exit code 1 means that the replay ended with another model, 3 that a board's
/// ledger differs from the model's booking.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = RunDirectory::new(&args.directory);
    ensure!(
        directory.file(EVENTS).is_file(),
        "{} holds no {EVENTS}: only runs of `gleaner run` and `gleaner emulate --run` can be replayed",
        args.directory.display()
    );
    // Without a terminal there is no progress bar.
    let mut progress = Progress::new(!std::io::stderr().is_terminal());
    let verdict = verify_before(&mut progress, &directory, args.threads);
    progress.finish();
    let verdict = verdict?;
    outln!("orders    {} replayed", verdict.orders);
    for (client, updates) in &verdict.inexact {
        outln!(
            "          client {client}: {updates} updates cannot be recomputed (it does not train in \
             the firmware's arithmetic) and were read from the run's directory"
        );
    }
    outln!("recorded  sha256 {}", verdict.recorded);
    outln!("replayed  sha256 {}", verdict.replayed);
    if verdict.recorded == verdict.replayed {
        outln!("the replay ends with the model of the run");
        if let Some(boards) = BoardsReport::read(&directory)? {
            show_boards(&boards)?;
        }
        judge(&directory)
    } else {
        outln!("the replay ends with ANOTHER model");
        Ok(ExitCode::FAILURE)
    }
}
