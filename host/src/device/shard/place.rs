//! Where each board has its program and its shard, and how many samples it can train on.

use std::ops::Range;

/// A board that carries a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Board {
    /// Raspberry Pi Pico.
    Rp2040,
    /// Nucleo-L4R5ZI.
    Stm32,
    /// QEMU's mps2-an386.
    Emulated,
}

impl Board {
    /// Every board.
    pub const ALL: [Self; 3] = [Self::Rp2040, Self::Stm32, Self::Emulated];

    /// Returns the name of the board's linker script and image.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rp2040 => "rp2040",
            Self::Stm32 => "stm32",
            Self::Emulated => "emulated",
        }
    }

    /// Returns the address of the shard, as in `firmware/memory/<board>.x`.
    #[must_use]
    pub const fn address(self) -> u32 {
        match self {
            Self::Rp2040 => 0x1006_0000,
            Self::Stm32 => 0x0806_0000,
            Self::Emulated => 0x0006_0000,
        }
    }

    /// Returns where programs lie in the flash.
    #[must_use]
    pub const fn program_flash(self) -> Range<u32> {
        let start = match self {
            Self::Rp2040 => 0x1000_0000,
            Self::Stm32 => 0x0800_0000,
            Self::Emulated => 0,
        };
        start..self.address()
    }

    /// Returns where the shard lies: the rest of 2 MB.
    #[must_use]
    pub const fn shard_flash(self) -> Range<u32> {
        let program = self.program_flash();
        program.end..program.start + (2 << 20)
    }

    /// Returns the most samples of 784 bytes the board trains on: the RP2040 is limited by RAM
    /// for their error rows, the others by flash.
    #[must_use]
    pub const fn most_samples(self) -> usize {
        match self {
            Self::Rp2040 => 1_100,
            Self::Stm32 | Self::Emulated => 2_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_linker_scripts() {
        for board in Board::ALL {
            let path = format!(
                "{}/../firmware/memory/{}.x",
                env!("CARGO_MANIFEST_DIR"),
                board.name()
            );
            let script = std::fs::read_to_string(&path).unwrap();
            let script = script.to_lowercase();
            let shard = format!("shard : origin = {:#010x}, length = 1664k", board.address());
            let program = format!(": origin = {:#010x}", board.program_flash().start);
            for words in [shard, program] {
                assert!(script.contains(&words), "{path} must say {words}");
            }
            assert_eq!(board.shard_flash().len(), 1664 << 10);
        }
    }
}
