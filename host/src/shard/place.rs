//! Where each board expects its shard, and how many samples it can train on.

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
            let origin = format!("SHARD : ORIGIN = {:#010x}", board.address());
            let stated = script.to_lowercase().contains(&origin.to_lowercase());
            assert!(stated, "{path} must say {origin}");
        }
    }
}
