//! `gleaner flash`: firmware and samples into the boards of a bench.

#[cfg(feature = "probe")]
mod watch;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};

use super::scenario::ScenarioArgs;
use gleaner_host::device::firmware::Program;
use gleaner_host::device::flash::drive::{BootDrive, DriveError};
use gleaner_host::device::flash::target::Part;
use gleaner_host::device::flash::{program, shard_part};
use gleaner_host::device::shard::Board;
use gleaner_host::fleet;
use gleaner_host::fleet::file::{Bench, Chip, Entry, LinkKind};
use gleaner_host::station::setup::{overrides, shards};

/// Which boards, with what.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct Args {
    /// The bench that lists the boards.
    #[arg(long, value_name = "FILE", default_value = "bench.toml")]
    bench: PathBuf,
    /// The board to flash, by its name in the bench.
    #[arg(long, value_name = "NAME", group = "which")]
    board: Option<String>,
    /// Flash every board of the bench.
    #[arg(long, group = "which")]
    all: bool,
    /// An ELF file to flash; by default the client of this revision is built.
    #[arg(long, value_name = "ELF", conflicts_with = "logs")]
    firmware: Option<PathBuf>,
    /// Build the client with its log, for `gleaner logs`.
    #[arg(long)]
    logs: bool,
    /// Where the drive of a Pico in boot mode is mounted; by default it is looked for.
    #[arg(long, value_name = "FOLDER", conflicts_with = "all")]
    drive: Option<PathBuf>,
    #[command(flatten)]
    scenario: ScenarioArgs,
}

/// A board and what its flash should hold.
struct Job<'a> {
    entry: &'a Entry,
    chip: Chip,
    parts: Vec<Part>,
}

/// Runs `gleaner flash`; exit code 1 means that a board was not flashed.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let bench = Bench::read(&args.bench)?;
    let chosen = chosen(args, &bench)?;
    let jobs = prepare(args, &bench, &chosen)?;
    let for_drive = jobs.iter().filter(|job| may_use_drive(job)).count();
    let mut code = ExitCode::SUCCESS;
    for job in &jobs {
        if let Err(error) = flash(args, job, for_drive) {
            eprintln!("{}: error: {error:#}", job.entry.name);
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Returns the boards to flash with their chips.
fn chosen<'a>(args: &Args, bench: &'a Bench) -> anyhow::Result<Vec<(&'a Entry, Chip)>> {
    let is_board = |entry: &&Entry| {
        matches!(entry.link, LinkKind::Serial | LinkKind::Tcp) && entry.chip != Some(Chip::M4)
    };
    let entries: Vec<&Entry> = match &args.board {
        Some(name) => vec![bench.named(name)?],
        None => bench.clients.iter().filter(is_board).collect(),
    };
    ensure!(
        !entries.is_empty(),
        "{}: no client is a board that can be flashed",
        args.bench.display()
    );
    let with_chip = |entry: &'a Entry| {
        ensure!(
            is_board(&entry),
            "client \"{}\" is not a board: there is nothing to flash",
            entry.name
        );
        let chip = entry.chip.with_context(|| {
            format!(
                "{}: client \"{}\" names no chip; add chip = \"rp2040\" or chip = \"stm32l4r5\"",
                args.bench.display(),
                entry.name
            )
        })?;
        Ok((entry, chip))
    };
    entries.into_iter().map(with_chip).collect()
}

/// Builds or reads the firmware, makes the shards, and checks that they fit their chips.
fn prepare<'a>(
    args: &Args,
    bench: &Bench,
    chosen: &[(&'a Entry, Chip)],
) -> anyhow::Result<Vec<Job<'a>>> {
    let mut images: HashMap<&str, Part> = HashMap::new();
    for &(_, chip) in chosen {
        if !images.contains_key(chip.name()) {
            images.insert(chip.name(), firmware(args, chip)?);
        }
    }
    let scenario = args.scenario.resolve_with(&overrides(bench))?;
    let data = fleet::load_data(&scenario)?;
    let mut shards = shards(&scenario, &data, |client| bench.key_of(client))?;
    let job = |&(entry, chip): &(&'a Entry, Chip)| {
        let shard = std::mem::take(&mut shards[entry.id as usize]);
        let parts = vec![
            images[chip.name()].clone(),
            shard_part(chip.board(), shard)?,
        ];
        Ok(Job { entry, chip, parts })
    };
    chosen.iter().map(job).collect()
}

fn firmware(args: &Args, chip: Chip) -> anyhow::Result<Part> {
    let path = match &args.firmware {
        Some(path) => path.clone(),
        None => {
            let program = if args.logs {
                Program::LoggingClient
            } else {
                Program::Client
            };
            let board: Board = chip.board();
            eprintln!("building the client: cargo {}", board.alias(program));
            board.ensure(program)?
        }
    };
    Ok(program::read(&path, chip)?)
}

/// A Pico that names no probe may be the one in boot mode.
fn may_use_drive(job: &Job<'_>) -> bool {
    job.chip == Chip::Rp2040 && job.entry.probe.is_none()
}

fn flash(args: &Args, job: &Job<'_>, for_drive: usize) -> anyhow::Result<()> {
    if let Some(path) = &args.drive {
        ensure!(
            job.chip == Chip::Rp2040,
            "--drive: an {} has no boot drive, only an rp2040 has",
            job.chip
        );
        return copy(&BootDrive::open(path)?, job);
    }
    if !may_use_drive(job) {
        return through_probe(job);
    }
    match BootDrive::find() {
        Ok(drive) if for_drive == 1 => copy(&drive, job),
        Ok(drive) => bail!(
            "a Pico is in boot mode at {}, but {for_drive} of the bench could be the one; flash \
             them one by one with --board",
            drive.path().display()
        ),
        Err(none @ DriveError::None) => {
            through_probe(job).with_context(|| format!("{none}; through a probe"))
        }
        Err(error) => Err(error.into()),
    }
}

fn copy(drive: &BootDrive, job: &Job<'_>) -> anyhow::Result<()> {
    drive.copy(&job.parts)?;
    for part in &job.parts {
        println!("{}: {part}: copied to {}", job.entry.name, at(drive.path()));
    }
    println!(
        "{}: the Pico restarts by itself; `gleaner doctor` says whether it is well",
        job.entry.name
    );
    Ok(())
}

fn at(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(feature = "probe")]
fn through_probe(job: &Job<'_>) -> anyhow::Result<()> {
    use gleaner_host::device::flash::update::{Outcome, bring_up_to_date};
    use gleaner_host::device::probe::{Attached, Lister};

    let name = &job.entry.name;
    let mut target = Attached::to(&Lister::new(), job.entry, job.chip)?;
    println!("{name}: {} through {}", job.chip, target.probe());
    let mut bar = watch::Bar::new(name);
    let outcomes = bring_up_to_date(&mut target, job.chip, &job.parts, &mut bar)?;
    drop(bar);
    for (part, outcome) in job.parts.iter().zip(outcomes) {
        let words = match outcome {
            Outcome::Kept => "already there",
            Outcome::Written => "written and verified",
        };
        println!("{name}: {part}: {words}");
    }
    Ok(())
}

#[cfg(not(feature = "probe"))]
fn through_probe(_job: &Job<'_>) -> anyhow::Result<()> {
    bail!(super::no_probe())
}
