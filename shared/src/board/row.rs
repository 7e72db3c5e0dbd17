//! The row of a board, and the memory regions computed from it.

use core::ops::Range;

/// How a board's image is built and where its memories are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// The board's one name: of its binary, of its feature `board-<name>`, in `fleet.toml` and on
    /// the command line.
    pub name: &'static str,
    /// The name that its maker uses.
    pub title: &'static str,
    /// The compiler's target triple.
    pub triple: &'static str,
    /// The number of cores that the client uses.
    pub cores: u8,
    /// The flash, shared by program, shard, state and keys.
    pub flash: Region,
    /// How the chip finds its program.
    pub boot: Boot,
    /// Size of loader and program at the start of the flash; the shard follows.
    pub program_bytes: u32,
    /// Size of the state (ledger and model) in flash, before the keys.
    pub state_bytes: u32,
    /// Size of the keys at the end of the flash.
    pub key_bytes: u32,
    /// Bytes erased at once; keys take two sectors.
    pub sector_bytes: u32,
    /// The RAM for stack and statics.
    pub ram: Region,
    /// Size of the stack at the start of the RAM: an overflow leaves the RAM and faults.
    pub stack_bytes: u32,
    /// Address of random bytes on a machine without a noise source.
    pub entropy_address: Option<u32>,
    /// The most samples of 784 bytes that 784-50-10 is trained on.
    pub most_samples: usize,
    /// The chip's name in probe-rs; a board without one only exists in an emulator.
    pub probe_target: Option<&'static str>,
    /// Whether there is a self-test image, which an emulator runs.
    pub self_test: bool,
    /// Whether there is an example application, `app-<name>`.
    pub app: bool,
    /// Whether there is a build of the client with log records.
    pub keeps_log: bool,
    /// The pins that show the phase of a measured board, lowest bit first.
    pub phase_pins: Option<[&'static str; 3]>,
    /// The available clocks of the processor, in hertz, the initial one first.
    pub clocks_hz: &'static [u32],
}

/// How a chip finds its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boot {
    /// The vector table is at the start of the flash.
    VectorTable,
    /// A loader of 256 bytes is before the vector table.
    Loader,
    /// A block after the vector table describes the program, within the first 4 KB of the flash.
    ImageDefinition,
}

impl Boot {
    /// Returns the size of the loader before the vector table.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Loader => 0x100,
            Self::VectorTable | Self::ImageDefinition => 0,
        }
    }
}

/// A region of memory, by its name in the linker's memory map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Region {
    pub name: &'static str,
    pub start: u32,
    pub bytes: u32,
}

impl Region {
    pub(super) const fn new(name: &'static str, start: u32, bytes: u32) -> Self {
        Self { name, start, bytes }
    }

    /// Returns the address after the region.
    pub const fn end(&self) -> u32 {
        self.start + self.bytes
    }

    /// Returns the addresses of the region.
    pub const fn range(&self) -> Range<u32> {
        self.start..self.end()
    }
}

impl Board {
    /// Returns the region of the loader, which may be empty.
    pub const fn loader(&self) -> Region {
        Region::new("BOOT2", self.flash.start, self.boot.bytes())
    }

    /// Returns the region of the program, from its vector table on.
    pub const fn program(&self) -> Region {
        Region::new(
            "FLASH",
            self.loader().end(),
            self.program_bytes - self.boot.bytes(),
        )
    }

    /// Returns the region of the shard: the rest of the flash.
    pub const fn shard(&self) -> Region {
        Region::new(
            "SHARD",
            self.program().end(),
            self.state().start - self.program().end(),
        )
    }

    /// Returns the region of the state that survives a power cut, before the keys.
    pub const fn state(&self) -> Region {
        Region::new(
            "STATE",
            self.keys().start - self.state_bytes,
            self.state_bytes,
        )
    }

    /// Returns the region of the keys, at the end of the flash.
    pub const fn keys(&self) -> Region {
        Region::new("KEYS", self.flash.end() - self.key_bytes, self.key_bytes)
    }

    /// Returns the region of the stack: before everything else, so that an overflow faults.
    pub const fn stack(&self) -> Region {
        Region::new("STACK_RAM", self.ram.start, self.stack_bytes)
    }

    /// Returns the RAM that survives a reset: far from the end of the RAM, which boot ROMs use.
    pub const fn retained_ram(&self) -> Region {
        Region::new("RETAINED_RAM", self.stack().end(), 512)
    }

    /// Returns the RAM for statics.
    pub const fn statics(&self) -> Region {
        Region::new(
            "RAM",
            self.retained_ram().end(),
            self.ram.end() - self.retained_ram().end(),
        )
    }

    /// Returns the flash regions without program, in order; the linker's symbols `_name_start` and
    /// `_name_end` give the address of region `NAME` to the program.
    pub const fn data_regions(&self) -> [Region; 3] {
        [self.shard(), self.state(), self.keys()]
    }

    /// Returns every region of the flash, in order.
    pub const fn flash_regions(&self) -> [Region; 5] {
        let [shard, state, keys] = self.data_regions();
        [self.loader(), self.program(), shard, state, keys]
    }

    /// Returns every region of the RAM, in order.
    pub const fn ram_regions(&self) -> [Region; 3] {
        [self.stack(), self.retained_ram(), self.statics()]
    }
}
