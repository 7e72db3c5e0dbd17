//! Flash and RAM of every image against its board's.

use std::fmt;

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSection, SectionFlags, elf};

use crate::board::{BOARDS, Board, image};

/// What an image takes of its board.
#[derive(Clone, Copy, Debug)]
struct Usage {
    flash: u64,
    flash_limit: u64,
    ram: u64,
    ram_limit: u64,
}

/// Prints a row per image and fails if one does not fit.
pub fn report() -> Result<()> {
    println!(
        "{:<10} {:<28} {:>28}  {:>28}",
        "board", "", "flash", "RAM (statics)"
    );
    let mut over = Vec::new();
    for board in BOARDS {
        let usage = measure(board)?;
        println!("{:<10} {:<28} {usage}", board.name, board.title);
        if usage.flash > usage.flash_limit || usage.ram > usage.ram_limit {
            over.push(board.name);
        }
    }
    if !over.is_empty() {
        bail!("images over their limits: {}", over.join(", "));
    }
    Ok(())
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |used: u64, limit: u64| {
            format!(
                "{used:>9} of {limit:>8} ({:>3} %)",
                (used * 100).div_ceil(limit.max(1))
            )
        };
        write!(
            f,
            "{}  {}",
            part(self.flash, self.flash_limit),
            part(self.ram, self.ram_limit)
        )
    }
}

fn measure(board: &Board) -> Result<Usage> {
    let image = image(board);
    let bytes = std::fs::read(&image).with_context(|| format!("cannot read {image}"))?;
    let elf = object::File::parse(&*bytes).with_context(|| format!("{image} is not ELF"))?;
    let ram = board.ram.range();
    let mut usage = Usage {
        flash: 0,
        flash_limit: board.program_bytes.into(),
        ram: 0,
        ram_limit: board.ram.bytes.into(),
    };
    for section in elf.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else {
            continue;
        };
        if sh_flags & u64::from(elf::SHF_ALLOC) == 0 {
            continue;
        }
        if (u64::from(ram.start)..u64::from(ram.end)).contains(&section.address()) {
            usage.ram += section.size();
        }
        // Initialised RAM is copied from flash at start-up.
        if section.file_range().is_some() {
            usage.flash += section.size();
        }
    }
    Ok(usage)
}
