//! Flash and RAM of every image against the limits in its board's linker script.

use std::fmt;

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSection, SectionFlags, elf};

use crate::board::{BOARDS, Board};

/// A region of a linker script's `MEMORY` block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Region {
    name: String,
    origin: u64,
    length: u64,
}

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
    for board in &BOARDS {
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
    let script = board.memory_script();
    let regions =
        std::fs::read_to_string(&script).with_context(|| format!("cannot read {script}"))?;
    let regions = regions_of(&regions);
    let ram: Vec<&Region> = regions
        .iter()
        .filter(|region| region.name.contains("RAM"))
        .collect();
    let image = board.image();
    let bytes = std::fs::read(&image).with_context(|| format!("cannot read {image}"))?;
    let elf = object::File::parse(&*bytes).with_context(|| format!("{image} is not ELF"))?;

    let total = |regions: &mut dyn Iterator<Item = &Region>| regions.map(|r| r.length).sum();
    let mut usage = Usage {
        flash: 0,
        flash_limit: total(&mut regions.iter().filter(|region| is_program_flash(region))),
        ram: 0,
        ram_limit: total(&mut ram.iter().copied()),
    };
    for section in elf.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else {
            continue;
        };
        if sh_flags & u64::from(elf::SHF_ALLOC) == 0 {
            continue;
        }
        let in_ram = ram
            .iter()
            .any(|r| (r.origin..r.origin + r.length).contains(&section.address()));
        if in_ram {
            usage.ram += section.size();
        }
        // Initialised RAM is copied from flash at start-up.
        if section.file_range().is_some() {
            usage.flash += section.size();
        }
    }
    Ok(usage)
}

/// The shard has a region of its own, which is not for programs.
fn is_program_flash(region: &Region) -> bool {
    !region.name.contains("RAM") && region.name != "SHARD"
}

/// Reads `NAME (attributes) : ORIGIN = x, LENGTH = y` lines; numbers may add up and carry K or M.
fn regions_of(script: &str) -> Vec<Region> {
    let value = |text: &str, key: &str| -> Option<u64> {
        let (_, rest) = text.split_once(key)?;
        let expression = rest.split_once('=')?.1.split([',', '}']).next()?;
        expression.split('+').map(|term| number(term.trim())).sum()
    };
    script
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(':')?;
            Some(Region {
                name: name.split('(').next()?.trim().to_owned(),
                origin: value(rest, "ORIGIN")?,
                length: value(rest, "LENGTH")?,
            })
        })
        .collect()
}

fn number(text: &str) -> Option<u64> {
    let text = text.split("/*").next()?.trim();
    let (digits, scale) = match text.strip_suffix(['K', 'M']) {
        Some(digits) if text.ends_with('K') => (digits, 1 << 10),
        Some(digits) => (digits, 1 << 20),
        None => (text, 1),
    };
    let parsed = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    parsed.ok().map(|number| number * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_memory_block() {
        let regions = regions_of(
            "MEMORY {\n  BOOT2 : ORIGIN = 0x10000000, LENGTH = 0x100\n\
             FLASH (rx) : ORIGIN = 0x10000000 + 0x100, LENGTH = 1M + 2K /* rest */\n\
             RAM : ORIGIN = 0x20000000, LENGTH = 264K }",
        );
        let region = |name: &str, origin, length| Region {
            name: name.into(),
            origin,
            length,
        };
        assert_eq!(
            regions,
            [
                region("BOOT2", 0x1000_0000, 0x100),
                region("FLASH", 0x1000_0100, (1 << 20) + 2048),
                region("RAM", 0x2000_0000, 264 << 10),
            ]
        );
    }
}
