//! `gleaner image`: the Pico's program as a file for its boot mode.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use object::elf::FileHeader32;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{LittleEndian, elf};

use crate::emulator::image::{EmulatedBoard, Program};
use crate::shard::uf2;

/// Which program, into which file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// An ELF file to convert; by default the client is built with `cargo fw-rp2040`.
    #[arg(long, value_name = "ELF")]
    image: Option<PathBuf>,
    /// Where to write.
    #[arg(long, value_name = "FILE.uf2", default_value = "client.uf2")]
    out: PathBuf,
}

/// Runs `gleaner image`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let path = match &args.image {
        Some(path) => path.clone(),
        None => EmulatedBoard::Rp2040.ensure(Program::Client)?,
    };
    let (address, bytes) = flash_content(&path)?;
    std::fs::write(&args.out, uf2::for_rp2040(address, &bytes))
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    println!(
        "{}: {} bytes at {address:#010x}; hold BOOTSEL while plugging the Pico in and copy the \
         file to its drive",
        args.out.display(),
        bytes.len()
    );
    Ok(ExitCode::SUCCESS)
}

/// Returns the first address of a program and all bytes from there; gaps are ones, as in erased
/// flash.
fn flash_content(path: &Path) -> anyhow::Result<(u32, Vec<u8>)> {
    let file = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let wrong = || format!("{}: not a 32-bit little-endian ELF file", path.display());
    let header = FileHeader32::<LittleEndian>::parse(&*file).with_context(wrong)?;
    let mut parts = Vec::new();
    for segment in header
        .program_headers(LittleEndian, &*file)
        .with_context(wrong)?
    {
        let Ok(bytes) = segment.data(LittleEndian, &*file) else {
            anyhow::bail!(wrong());
        };
        if segment.p_type(LittleEndian) == elf::PT_LOAD && !bytes.is_empty() {
            parts.push((segment.p_paddr(LittleEndian), bytes));
        }
    }
    let first = parts.iter().map(|&(address, _)| address).min();
    let Some(first) = first else {
        anyhow::bail!("{}: nothing to flash", path.display());
    };
    let mut content = Vec::new();
    for (address, bytes) in parts {
        let start = (address - first) as usize;
        let end = start + bytes.len();
        ensure!(
            end <= 2 << 20,
            "{}: more than 2 MB of flash",
            path.display()
        );
        content.resize(content.len().max(end), 0xFF);
        content[start..end].copy_from_slice(bytes);
    }
    Ok((first, content))
}
