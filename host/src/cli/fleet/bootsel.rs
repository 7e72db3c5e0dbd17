//! `gleaner fleet bootsel`: restarts boards in boot mode over their lines.

use std::process::ExitCode;
use std::time::Duration;

use super::FleetArgs;
use gleaner_station::device::board::{self, Board};
use gleaner_station::fleet_file::{Entry, FleetFile};
use gleaner_station::link::Endpoint;
use gleaner_station::service::bootsel::bootsel;

#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("which").required(true),
    after_help = "\
A board in boot mode shows its drive and takes any program; it leaves boot mode when it is flashed or
plugged in again. Only the holder of its key can restart it; a board without a key refuses. `gleaner
flash` does this by itself. Run it while no `gleaner run` uses the boards."
)]
pub struct Args {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Name of a board in the fleet; may be repeated.
    #[arg(long, value_name = "NAME", group = "which")]
    board: Vec<String>,
    /// All boards of the fleet that have a boot drive.
    #[arg(long, group = "which")]
    all: bool,
    /// Wall seconds to wait for a session.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    patience_s: u64,
}

/// Runs `gleaner fleet bootsel`; exit code 1 means that a board is not in boot mode.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let fleet = FleetFile::read(args.fleet.path())?;
    let has_drive = |entry: &&Entry| {
        entry
            .board()
            .is_some_and(|it| it.row().boot_drive.is_some())
    };
    let chosen: Vec<&Entry> = match args.all {
        true => fleet.clients.iter().filter(has_drive).collect(),
        false => {
            let named = args.board.iter().map(|name| fleet.named(name));
            named.collect::<Result<_, _>>()?
        }
    };
    anyhow::ensure!(
        !chosen.is_empty(),
        "no board of this fleet has a boot drive; an {} has",
        board::list(Board::with_boot_drive(), "or")
    );
    let mut code = ExitCode::SUCCESS;
    for entry in chosen {
        match send(entry, Duration::from_secs(args.patience_s)) {
            Ok(()) => outln!("{}: in boot mode", entry.name),
            Err(error) => {
                errln!("{}: error: {error:#}", entry.name);
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// Restarts one board in boot mode.
pub fn send(entry: &Entry, patience: Duration) -> anyhow::Result<()> {
    let Some(place) = entry.place() else {
        anyhow::bail!(
            "link = \"{}\": the command needs a line that this machine opens",
            entry.link.name()
        );
    };
    let runtime = tokio::runtime::Runtime::new()?;
    Ok(runtime.block_on(bootsel(entry, &Endpoint::new(place), patience))?)
}
