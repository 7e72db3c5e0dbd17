//! `gleaner image`: a Pico's program as a file for its boot mode.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};

use super::board::with_boot_drive_by_name;
use gleaner_host::device::Board;
use gleaner_host::device::flash::{program, uf2};
use gleaner_host::device::image::Program;

/// Which program, into which file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The board whose program it is.
    #[arg(long, value_parser = with_boot_drive_by_name(), default_value = Board::Rp2040.name())]
    board: Board,
    /// An ELF file to convert; by default the client is built with `cargo fw-BOARD`.
    #[arg(long, value_name = "ELF")]
    firmware: Option<PathBuf>,
    /// Where to write.
    #[arg(long, value_name = "FILE.uf2", default_value = "client.uf2")]
    out: PathBuf,
}

/// Runs `gleaner image`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    ensure!(
        args.out
            .extension()
            .is_some_and(|extension| extension == "uf2"),
        "--out {}: must end in .uf2, or the Pico's drive ignores the file",
        args.out.display()
    );
    let path = match &args.firmware {
        Some(path) => path.clone(),
        None => args.board.ensure(Program::Client)?,
    };
    let part = program::read(&path, args.board)?;
    let drive = args.board.row().boot_drive;
    let drive = drive.context("the board takes no files")?;
    let file = uf2::file(drive.family, &[(part.address, &part.bytes)]);
    std::fs::write(&args.out, file)
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    outln!(
        "{}: {part}; hold BOOTSEL while plugging the {} in and copy the file to its drive {}",
        args.out.display(),
        drive.product,
        drive.label,
    );
    Ok(ExitCode::SUCCESS)
}
