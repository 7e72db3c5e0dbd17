//! `gleaner fleet init`: writes a fleet.toml of the boards that are plugged in.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;

use gleaner_station::device::Board;
use gleaner_station::device::flash::drive::BootDrive;
use gleaner_station::device::row::Uf2Drive;
use gleaner_station::fleet_file::{FILE_NAME, from_ports, template, write_private};
use gleaner_station::link::serial;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file to write; an existing file is not replaced.
    #[arg(long, value_name = "FILE", default_value = FILE_NAME)]
    out: PathBuf,
    /// Mount point of a board's drive in boot mode; may be repeated, found automatically by default.
    #[arg(long, value_name = "FOLDER")]
    drive: Vec<PathBuf>,
}

impl Args {
    /// Returns the boards in boot mode.
    fn drives(&self) -> anyhow::Result<Vec<Board>> {
        let kinds: Vec<(Board, Uf2Drive)> = Board::with_boot_drive()
            .filter_map(|board| Some((board, board.row().boot_drive?)))
            .collect();
        if self.drive.is_empty() {
            let found = |&(board, kind)| BootDrive::all(kind).into_iter().map(move |_| board);
            return Ok(kinds.iter().flat_map(found).collect());
        }
        self.drive
            .iter()
            .map(|path| of_drive(path, &kinds))
            .collect()
    }
}

/// Returns the board whose drive is mounted at `path`.
fn of_drive(path: &Path, kinds: &[(Board, Uf2Drive)]) -> anyhow::Result<Board> {
    let mut refused = None;
    for &(board, kind) in kinds {
        match BootDrive::open(path, kind) {
            Ok(_) => return Ok(board),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    let refused = refused.context("no kind of board has a drive")?;
    Err(refused.into())
}

/// Runs `gleaner fleet init`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let file = args.out.display();
    anyhow::ensure!(
        !args.out.exists(),
        "{file} exists; move it away or use --out"
    );
    let found = from_ports(&serial::found()?, &args.drives()?)?;
    let found_nothing = found.clients.is_empty();
    let (fleet, head) = if found_nothing {
        let head = "# No board is plugged in: two emulated boards and a simulated client.\n\n";
        (template(), head)
    } else {
        let head = "# The clients of a fleet. Keys are secret: every board gets its own with its shard.\n\n";
        (found, head)
    };
    if found_nothing {
        outln!("no board is plugged in: this fleet emulates its boards");
    }
    write_private(&args.out, format!("{head}{}", fleet.to_toml()))
        .with_context(|| format!("cannot write {file}"))?;
    for entry in &fleet.clients {
        let place = match entry.place() {
            Some(_) if entry.is_fresh() => "in boot mode: `gleaner flash` flashes it".to_owned(),
            Some(place) => place.to_string(),
            None => entry.link.name().to_owned(),
        };
        outln!("client {}  {:<12} {place}", entry.id, entry.name);
    }
    let preset = fleet.preset.as_deref().unwrap_or_default();
    outln!("{file} is written, preset {preset}; run it with `gleaner run --fleet {file}`");
    Ok(ExitCode::SUCCESS)
}
