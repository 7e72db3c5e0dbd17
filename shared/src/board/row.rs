//! What a row of the table of boards holds, and the regions that follow from it.

use core::ops::Range;

/// How a board's image is built and where its memories lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// The board's one name: of its binary, of its feature `board-<name>`, in `fleet.toml` and on
    /// the command line.
    pub name: &'static str,
    /// The maker's name of the board.
    pub title: &'static str,
    /// The compiler's target.
    pub triple: &'static str,
    /// The number of cores that the client uses.
    pub cores: u8,
    /// The flash that program, shard, state and keys share.
    pub flash: Region,
    /// How the chip finds the program.
    pub boot: Boot,
    /// The front of the flash, loader and program; the shard begins behind it.
    pub program_bytes: u32,
    /// In front of the keys, where the board keeps ledger and model over a power cut.
    pub state_bytes: u32,
    /// The end of the flash, where the board keeps keys that came after its shard's.
    pub key_bytes: u32,
    /// What of the flash is erased at once; keys take two of them.
    pub sector_bytes: u32,
    /// The RAM of stack and statics.
    pub ram: Region,
    /// The front of the RAM, for the stack: what outgrows it leaves the RAM and faults.
    pub stack_bytes: u32,
    /// Where the program finds random bytes on a machine without noise of its own.
    pub entropy_address: Option<u32>,
    /// The most samples of 784 bytes it trains 784-50-10 on.
    pub most_samples: usize,
    /// The chip's name in probe-rs; a board without one only exists in an emulator.
    pub probe_target: Option<&'static str>,
    /// Whether there is a self-test for it, which an emulator runs.
    pub self_test: bool,
    /// Whether there is an example application for it, `app-<name>`.
    pub app: bool,
    /// Whether there is a build of the client with a log for it.
    pub keeps_log: bool,
    /// The pins that show the phase while it is measured, lowest bit first.
    pub phase_pins: Option<[&'static str; 3]>,
    /// The clocks its processor can be set to, in hertz, the one it starts with first.
    pub clocks_hz: &'static [u32],
}

/// How a chip finds its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boot {
    /// By the vector table at the beginning of the flash.
    VectorTable,
    /// By a loader of 256 bytes in front of it.
    Loader,
    /// By a block behind it that says what the program is, within the first 4 KB of the flash.
    ImageDefinition,
}

impl Boot {
    /// Returns the bytes in front of the vector table.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Loader => 0x100,
            Self::VectorTable | Self::ImageDefinition => 0,
        }
    }
}

/// A stretch of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name in the linker's memory map.
    pub name: &'static str,
    /// Its first address.
    pub start: u32,
    /// Its length.
    pub bytes: u32,
}

impl Region {
    /// Returns the address behind it.
    #[must_use]
    pub const fn end(&self) -> u32 {
        self.start + self.bytes
    }

    /// Returns its addresses.
    #[must_use]
    pub const fn range(&self) -> Range<u32> {
        self.start..self.end()
    }
}

impl Board {
    /// Returns where the loader lies; of no length where there is none.
    #[must_use]
    pub const fn loader(&self) -> Region {
        Region {
            name: "BOOT2",
            start: self.flash.start,
            bytes: self.boot.bytes(),
        }
    }

    /// Returns where the program lies, from its vector table on.
    #[must_use]
    pub const fn program(&self) -> Region {
        Region {
            name: "FLASH",
            start: self.loader().end(),
            bytes: self.program_bytes - self.boot.bytes(),
        }
    }

    /// Returns where the shard lies: what all others leave.
    #[must_use]
    pub const fn shard(&self) -> Region {
        Region {
            name: "SHARD",
            start: self.program().end(),
            bytes: self.state().start - self.program().end(),
        }
    }

    /// Returns where the state lies that survives a power cut: in front of the keys.
    #[must_use]
    pub const fn state(&self) -> Region {
        Region {
            name: "STATE",
            start: self.keys().start - self.state_bytes,
            bytes: self.state_bytes,
        }
    }

    /// Returns where the keys lie: the end of the flash.
    #[must_use]
    pub const fn keys(&self) -> Region {
        Region {
            name: "KEYS",
            start: self.flash.end() - self.key_bytes,
            bytes: self.key_bytes,
        }
    }

    /// Returns where the stack lies: below everything else, so that it overwrites nothing.
    #[must_use]
    pub const fn stack(&self) -> Region {
        Region {
            name: "STACK_RAM",
            start: self.ram.start,
            bytes: self.stack_bytes,
        }
    }

    /// Returns where what a reset keeps lies: far from the top of the RAM, which boot ROMs use.
    #[must_use]
    pub const fn kept_ram(&self) -> Region {
        Region {
            name: "KEPT_RAM",
            start: self.stack().end(),
            bytes: 512,
        }
    }

    /// Returns where the statics lie.
    #[must_use]
    pub const fn statics(&self) -> Region {
        Region {
            name: "RAM",
            start: self.kept_ram().end(),
            bytes: self.ram.end() - self.kept_ram().end(),
        }
    }

    /// Returns the regions of the flash that hold no program, in order; a program knows where
    /// `NAME` lies by the linker's symbols `_name_start` and `_name_end`.
    #[must_use]
    pub const fn kept(&self) -> [Region; 3] {
        [self.shard(), self.state(), self.keys()]
    }

    /// Returns every region of the flash, in order.
    #[must_use]
    pub const fn flash_regions(&self) -> [Region; 5] {
        let [shard, state, keys] = self.kept();
        [self.loader(), self.program(), shard, state, keys]
    }

    /// Returns every region of the RAM, in order.
    #[must_use]
    pub const fn ram_regions(&self) -> [Region; 3] {
        [self.stack(), self.kept_ram(), self.statics()]
    }
}
