//! `gleaner doctor`: checks a fleet and says how to fix what is wrong.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;

use super::fleet::FleetArgs;
use super::listen::ListenArgs;
use super::scenario::ScenarioArgs;
use gleaner_sim::fleet;
use gleaner_station::doctor::{Options, examine};
use gleaner_station::fleet_file::FleetFile;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Bytes to send to every board and back; 0 skips the echo.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    echo_bytes: usize,
    /// Wall seconds to wait for every answer of a board.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    patience_s: u64,
    #[command(flatten)]
    listen: ListenArgs,
}

/// Runs `gleaner doctor`; exit code 1 means that something needs fixing.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let fleet = FleetFile::read(args.fleet.path())?;
    let scenario = args.scenario.resolve_for(&fleet, &[])?;
    let data = fleet::load_data(&scenario)?;
    let options = Options {
        patience: Duration::from_secs(args.patience_s),
        echo_bytes: args.echo_bytes,
        listen: args.listen.listen,
    };
    // For the shards of emulated boards.
    let folder = tempfile::tempdir().context("no folder for temporary files")?;
    let diagnosis = examine(&fleet, &scenario, &data, options, folder.path())?;
    out!("{diagnosis}");
    Ok(if diagnosis.is_healthy() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
