//! `gleaner image`: the Pico's program as a file for its boot mode.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};

use gleaner_host::device::firmware::Program;
use gleaner_host::device::flash::program;
use gleaner_host::device::shard::{Board, uf2};
use gleaner_host::fleet::file::Chip;

/// Which program, into which file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// An ELF file to convert; by default the client is built with `cargo fw-rp2040`.
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
        None => Board::Rp2040.ensure(Program::Client)?,
    };
    let part = program::read(&path, Chip::Rp2040)?;
    std::fs::write(&args.out, uf2::for_rp2040(&[(part.address, &part.bytes)]))
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    println!(
        "{}: {part}; hold BOOTSEL while plugging the Pico in and copy the file to its drive",
        args.out.display(),
    );
    Ok(ExitCode::SUCCESS)
}
