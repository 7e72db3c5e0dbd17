//! `gleaner fleet image`: writes a board's program, with optional samples, as one file for its boot mode.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use gleaner_shared::board::Shape;
use gleaner_shared::shard::Shard;

use super::OptionalFleetArgs;
use crate::cli::board::by_name;
use crate::cli::scenario::ScenarioArgs;
use gleaner_sim::fleet;
use gleaner_station::device::board::{self, Board};
use gleaner_station::device::flash::target::Part;
use gleaner_station::device::flash::{program, shard_part, uf2};
use gleaner_station::device::image::Program;
use gleaner_station::fleet_file::write_private;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The board to build for.
    #[arg(long, value_parser = by_name(), default_value = Board::Rp2040.name())]
    board: Board,
    #[command(flatten)]
    fleet: OptionalFleetArgs,
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// An ELF file to convert; by default the client is built for the scenario's network with
    /// `cargo xtask firmware BOARD`.
    #[arg(long, value_name = "ELF")]
    firmware: Option<PathBuf>,
    /// Samples to include: a `.bin` of `gleaner data shard`.
    #[arg(long, value_name = "SHARD.bin")]
    shard: Option<PathBuf>,
    /// The file to write.
    #[arg(long, value_name = "FILE.uf2", default_value = "client.uf2")]
    out: PathBuf,
}

/// Runs `gleaner fleet image`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    ensure!(
        args.out
            .extension()
            .is_some_and(|extension| extension == "uf2"),
        "--out {}: must end in .uf2, or the board's drive ignores the file",
        args.out.display()
    );
    let drive = args.board.row().boot_drive.with_context(|| {
        let takers = board::list(Board::with_boot_drive(), "or");
        format!(
            "--board {}: has no boot drive; an {takers} has",
            args.board.name()
        )
    })?;
    let (scenario, _) = args.fleet.resolve(&args.scenario)?;
    let data = fleet::load_data(&scenario)?;
    let network = fleet::shape(&scenario, &data)?;
    let path = match &args.firmware {
        Some(path) => path.clone(),
        None => args.board.ensure_for(Program::Client, network)?,
    };
    let mut parts = vec![program::read(&path, args.board)?];
    if let Some(shard) = &args.shard {
        parts.push(read_shard(shard, args.board, network)?);
    }
    let stretches: Vec<(u32, &[u8])> = parts.iter().map(|it| (it.address, &*it.bytes)).collect();
    // A shard may hold a key.
    write_private(&args.out, uf2::file(drive.family, &stretches))
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    let out = args.out.display();
    for part in &parts {
        outln!("{out}: {part}");
    }
    outln!(
        "{out}: hold BOOTSEL while plugging the {} in and copy the file to its drive {}",
        drive.product,
        drive.label
    );
    Ok(ExitCode::SUCCESS)
}

fn read_shard(path: &Path, board: Board, network: Shape) -> anyhow::Result<Part> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let header = match Shard::open(&bytes) {
        Ok(shard) => *shard.header(),
        Err(error) => bail!(
            "{}: {error}; `gleaner data shard --out FILE.bin` makes one",
            path.display()
        ),
    };
    let (inputs, classes) = (usize::from(header.inputs), usize::from(header.classes));
    ensure!(
        (inputs, classes) == (network.inputs, network.classes),
        "{}: samples of {inputs} bytes and {classes} classes do not fit a network {network}; give the \
         scenario they were made with",
        path.display()
    );
    Ok(shard_part(board, network, bytes)?)
}
