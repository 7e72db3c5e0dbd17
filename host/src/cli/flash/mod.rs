//! `gleaner flash`: writes firmware and samples to the boards of a fleet.

mod boot;
#[cfg(feature = "probe")]
mod watch;

use gleaner_sim::ClientId;
use std::collections::{HashMap, hash_map};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use gleaner_shared::board::Shape;

use super::fleet::FleetArgs;
use super::scenario::ScenarioArgs;
use gleaner_sim::fleet;
use gleaner_station::device::board::{self, Board};
use gleaner_station::device::flash::drive::BootDrive;
use gleaner_station::device::flash::target::Part;
use gleaner_station::device::flash::{FlashError, program, shard_part};
use gleaner_station::device::image::Program;
use gleaner_station::device::row::Uf2Drive;
use gleaner_station::fleet_file::{Entry, FleetFile};
use gleaner_station::setup::shards;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct Args {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Name of the board in the fleet.
    #[arg(long, value_name = "NAME", group = "which")]
    board: Option<String>,
    /// Flash every board of the fleet.
    #[arg(long, group = "which")]
    all: bool,
    /// An ELF file to flash; by default the client of this revision is built.
    #[arg(long, value_name = "ELF", conflicts_with = "logs")]
    firmware: Option<PathBuf>,
    /// Build the client with its log, for `gleaner logs`.
    #[arg(long)]
    logs: bool,
    /// Mount point of a Pico's drive in boot mode; found automatically by default.
    #[arg(long, value_name = "FOLDER", conflicts_with = "all")]
    drive: Option<PathBuf>,
    /// Wall seconds to wait for a restarting board.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    wait_s: u64,
    #[command(flatten)]
    scenario: ScenarioArgs,
}

/// A board and the content of its flash.
struct FlashTask<'a> {
    entry: &'a Entry,
    board: Board,
    parts: Vec<Part>,
}

/// Runs `gleaner flash`; exit code 1 means that a board was not flashed.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let file = args.fleet.path().to_owned();
    let fleet = FleetFile::read(&file)?;
    let chosen = chosen(args, &file, &fleet)?;
    let tasks = prepare(args, &fleet, &chosen)?;
    let mut code = ExitCode::SUCCESS;
    for task in &tasks {
        if let Err(error) = flash(args, &file, task, &tasks) {
            errln!("{}: error: {error:#}", task.entry.name);
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Returns the clients to flash with their boards.
fn chosen<'a>(
    args: &Args,
    file: &Path,
    fleet: &'a FleetFile,
) -> anyhow::Result<Vec<(&'a Entry, Board)>> {
    let is_board =
        |entry: &&Entry| entry.link.is_hardware() && entry.board().is_none_or(Board::is_flashable);
    let entries: Vec<&Entry> = match &args.board {
        Some(name) => vec![fleet.named(name)?],
        None => fleet.clients.iter().filter(is_board).collect(),
    };
    ensure!(
        !entries.is_empty(),
        "{}: no client is a board that can be flashed",
        file.display()
    );
    let with_board = |entry: &'a Entry| {
        ensure!(
            is_board(&entry),
            "client \"{}\" is not a board that can be flashed",
            entry.name
        );
        let board = entry.board().with_context(|| {
            let chips = Board::flashable().map(|board| format!("chip = \"{board}\""));
            format!(
                "{}: client \"{}\" has no chip; add {}",
                file.display(),
                entry.name,
                board::list(chips, "or")
            )
        })?;
        Ok((entry, board))
    };
    entries.into_iter().map(with_board).collect()
}

/// Builds or reads the firmware, makes the shards, and checks that they fit their boards.
fn prepare<'a>(
    args: &Args,
    fleet: &FleetFile,
    chosen: &[(&'a Entry, Board)],
) -> anyhow::Result<Vec<FlashTask<'a>>> {
    let scenario = args.scenario.resolve_for(fleet, &[])?;
    let data = fleet::load_data(&scenario)?;
    let network = fleet::shape(&scenario, &data)?;
    for &(entry, board) in chosen {
        board
            .built_for(network)
            .with_context(|| format!("client \"{}\"", entry.name))?;
    }
    let mut images: HashMap<Board, Part> = HashMap::new();
    for &(_, board) in chosen {
        if let hash_map::Entry::Vacant(image) = images.entry(board) {
            image.insert(firmware(args, board, network)?);
        }
    }
    let mut shards = shards(&scenario, &data, |client| fleet.key_of(ClientId(client)))?;
    let task = |&(entry, board): &(&'a Entry, Board)| {
        let shard = std::mem::take(&mut shards[entry.id.index()]);
        let parts = vec![images[&board].clone(), shard_part(board, network, shard)?];
        Ok(FlashTask {
            entry,
            board,
            parts,
        })
    };
    chosen.iter().map(task).collect()
}

fn firmware(args: &Args, board: Board, network: Shape) -> anyhow::Result<Part> {
    let path = match &args.firmware {
        Some(path) => path.clone(),
        None => {
            let program = if args.logs {
                Program::LoggingClient
            } else {
                Program::Client
            };
            let command = board.build_command(program);
            errln!("building the client for {network}: {command}");
            board.ensure_for(program, network)?
        }
    };
    Ok(program::read(&path, board)?)
}

impl FlashTask<'_> {
    /// Returns the drive through which the board may be flashed; a board with a probe has none.
    fn drive(&self) -> Option<Uf2Drive> {
        let drive = self.board.row().boot_drive;
        drive.filter(|_| self.entry.probe.is_none())
    }

    /// Tells whether the board restarts in boot mode on command: it has a line and a key.
    fn restarts_on_command(&self) -> bool {
        let on_a_line = self.entry.place().is_some() && !self.entry.is_fresh();
        on_a_line && self.entry.key.is_some()
    }
}

/// Flashes one board of several.
fn flash(
    args: &Args,
    file: &Path,
    task: &FlashTask<'_>,
    all: &[FlashTask<'_>],
) -> anyhow::Result<()> {
    let wait = Duration::from_secs(args.wait_s);
    let write = |drive: &BootDrive, kind| match task.entry.is_fresh() {
        true => boot::fresh(task, (drive, kind), file, wait),
        false => copy(drive, kind, task),
    };
    if let Some(path) = &args.drive {
        let kind = task.board.row().boot_drive.with_context(|| {
            let others = board::list(Board::with_boot_drive(), "or");
            format!(
                "--drive: an {} has no boot drive, only an {others} has",
                task.board
            )
        })?;
        return write(&BootDrive::open(path, kind)?, kind);
    }
    let Some(kind) = task.drive() else {
        return through_probe(task);
    };
    let candidates = all.iter().filter(|task| task.drive() == Some(kind)).count();
    match BootDrive::find(kind) {
        Ok(drive) if candidates == 1 => write(&drive, kind),
        Ok(drive) => bail!(
            "a {} is in boot mode at {}, but {candidates} boards of the fleet match; flash \
             them one by one with --board",
            kind.product,
            drive.path().display()
        ),
        Err(FlashError::NoDrive(_)) if task.restarts_on_command() => {
            boot::over_its_line(task, kind, wait)
        }
        Err(none @ FlashError::NoDrive(_)) => {
            through_probe(task).with_context(|| format!("{none}; through a probe"))
        }
        Err(error) => Err(error.into()),
    }
}

fn copy(drive: &BootDrive, kind: Uf2Drive, task: &FlashTask<'_>) -> anyhow::Result<()> {
    drive.copy(&task.parts)?;
    let (name, path) = (&task.entry.name, drive.path().display());
    for part in &task.parts {
        outln!("{name}: {part}: copied to {path}");
    }
    outln!(
        "{name}: the {} restarts by itself; check it with `gleaner doctor`",
        kind.product
    );
    Ok(())
}

#[cfg(feature = "probe")]
fn through_probe(task: &FlashTask<'_>) -> anyhow::Result<()> {
    use gleaner_station::device::flash::update::{PartState, bring_up_to_date};
    use gleaner_station::device::probe::{Attached, Lister};

    let name = &task.entry.name;
    let mut target = Attached::to(&Lister::new(), task.entry.probe.as_deref(), task.board)?;
    outln!("{name}: {} through {}", task.board, target.probe());
    let mut bar = watch::Bar::new(name);
    let states = bring_up_to_date(&mut target, task.board, &task.parts, &mut bar)?;
    drop(bar);
    for (part, state) in task.parts.iter().zip(states) {
        let words = match state {
            PartState::Kept => "already there",
            PartState::Written => "written and verified",
        };
        outln!("{name}: {part}: {words}");
    }
    Ok(())
}

#[cfg(not(feature = "probe"))]
fn through_probe(_task: &FlashTask<'_>) -> anyhow::Result<()> {
    bail!(super::no_probe())
}
