//! Flash and RAM of an image, read from its ELF file.

use anyhow::{Context, Result};
use object::{Object, ObjectSection, SectionFlags, elf};

use crate::board::{Board, image};

/// Memory that an image takes of its board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    pub flash: u64,
    pub flash_limit: u64,
    pub ram: u64,
    pub ram_limit: u64,
}

impl Usage {
    /// Tells whether the board has what the image takes.
    pub const fn fits(&self) -> bool {
        self.flash <= self.flash_limit && self.ram <= self.ram_limit
    }

    /// RAM left by the statics.
    pub const fn stack_left(&self) -> u64 {
        self.ram_limit.saturating_sub(self.ram)
    }
}

/// Adds up the sections of a board's image.
pub fn measure(board: &Board) -> Result<Usage> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_fits_up_to_its_last_byte() {
        let usage = |flash, ram| Usage {
            flash,
            flash_limit: 10,
            ram,
            ram_limit: 20,
        };
        assert!(usage(10, 20).fits());
        assert!(!usage(11, 0).fits());
        assert!(!usage(0, 21).fits());
        assert_eq!(usage(0, 5).stack_left(), 15);
        assert_eq!(usage(0, 21).stack_left(), 0);
    }
}
