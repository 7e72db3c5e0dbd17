//! A row of the base station's table of boards.

use gleaner_shared::board::Board as Built;

/// Facts about a board.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The row that its image is built from: names, target, memories, most samples.
    pub built: &'static Built,
    /// Default name of a client on this board.
    pub nickname: &'static str,
    /// The core that runs the client.
    pub core: Core,
    /// The scenario preset with its clock, the energy of a cycle and the cycles of its work.
    pub preset: &'static str,
    /// Times of the flash that keeps its model, from the data sheet.
    pub flash: FlashTimes,
    /// Emulator of the board, if there is one.
    pub emulator: Option<Emulator>,
    /// The drive it shows in boot mode, if it does.
    pub boot_drive: Option<Uf2Drive>,
    /// Identification by a debug probe; a board without one only exists in an emulator.
    pub debug_port: Option<DebugPort>,
    /// USB devices that are, or carry, this board.
    pub usb: &'static [UsbId],
}

/// Typical times of a flash memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlashTimes {
    /// Erasing 4 KB.
    pub erase_s: f64,
    /// Programming 256 bytes.
    pub program_s: f64,
}

/// The drive of a boot loader that takes UF2 files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uf2Drive {
    /// Product name of the board.
    pub product: &'static str,
    /// The label of its drive, which is the `Board-ID` in its `INFO_UF2.TXT`.
    pub label: &'static str,
    /// The family number it takes files of.
    pub family: u32,
}

/// Identification of a chip by a debug probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebugPort {
    /// The register with its maker's number.
    pub id_register: u32,
    /// The bits of that number that do not change with the revision.
    pub id_mask: u32,
    /// Those bits of this chip.
    pub id: u32,
}

/// The numbers by which a USB device is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsbId {
    /// The vendor's number.
    pub vendor: u16,
    /// The product's, if it matters.
    pub product: Option<u16>,
}

impl UsbId {
    /// Tells whether a device of these numbers is meant.
    #[must_use]
    pub fn fits(self, vendor: u16, product: u16) -> bool {
        self.vendor == vendor && self.product.is_none_or(|wanted| wanted == product)
    }
}

/// A core of ARM's Cortex-M line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Common name of the core.
    pub title: &'static str,
    /// Its part number in CPUID (ARM DDI 0403, B3.2.3).
    pub part_number: u32,
    /// Whether it has the instructions of a Cortex-M4.
    pub runs_m4_code: bool,
}

/// The Cortex-M0+.
pub const CORTEX_M0_PLUS: Core = Core {
    title: "Cortex-M0+",
    part_number: 0xC60,
    runs_m4_code: false,
};

/// The Cortex-M4, with or without floating point.
pub const CORTEX_M4: Core = Core {
    title: "Cortex-M4",
    part_number: 0xC24,
    runs_m4_code: true,
};

/// The Cortex-M33 with the DSP extension, which has the instructions of a Cortex-M4.
pub const CORTEX_M33: Core = Core {
    title: "Cortex-M33",
    part_number: 0xD21,
    runs_m4_code: true,
};

/// A program that emulates a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emulator {
    /// rp2040js, which counts cycles and can run in lockstep with its caller.
    Rp2040js,
    /// The Unicorn engine under register models of ours, which counts cycles by a table of the core
    /// and can run in lockstep with its caller.
    Unicorn,
    /// QEMU, which counts instructions and runs as fast as it can.
    Qemu {
        /// QEMU's name of the board.
        machine: &'static str,
    },
}
