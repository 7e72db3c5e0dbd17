//! The table of boards: what this crate knows of a board stands in its row.
//!
//! A new board is a variant of [`Board`] and its row in [`Board::row`]: code elsewhere reads rows
//! and does not ask which board it has. `docs/boards.md` says what the firmware needs besides.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use strum::VariantArray;

use super::row::{CORTEX_M0_PLUS, CORTEX_M4, DebugPort, Emulator, OneEpoch, Row, Uf2Drive, UsbId};

/// A board that the firmware runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, VariantArray)]
pub enum Board {
    /// Raspberry Pi Pico.
    Rp2040,
    /// Nucleo-L4R5ZI.
    Stm32l4r5,
    /// QEMU's mps2-an386, which only exists there.
    M4,
}

impl Board {
    /// Returns everything that is known of the board.
    #[must_use]
    pub const fn row(self) -> &'static Row {
        match self {
            Self::Rp2040 => &Row {
                name: "rp2040",
                chip: "rp2040",
                title: "Raspberry Pi Pico",
                nickname: "pico",
                triple: "thumbv6m-none-eabi",
                core: CORTEX_M0_PLUS,
                program_address: 0x1000_0000,
                shard_address: 0x1006_0000,
                flash_bytes: 2 << 20,
                key_bytes: 8 << 10,
                // RAM for their error rows is the limit.
                most_samples: 1_100,
                preset: "rp2040",
                one_epoch: OneEpoch {
                    fixed: 3.6e6,
                    per_sample: 160e3,
                },
                keeps_log: true,
                emulator: Some(Emulator::Rp2040js),
                boot_drive: Some(Uf2Drive {
                    product: "Pico",
                    label: "RPI-RP2",
                    family: 0xE48B_FF56,
                }),
                // SYSINFO_CHIP_ID (datasheet, 2.20.2): revision, part 2, Raspberry Pi.
                debug_port: Some(DebugPort {
                    target: "RP2040",
                    id_register: 0x4000_0000,
                    id_mask: 0x0FFF_FFFF,
                    id: 0x0000_2927,
                }),
                // Our own client, as in `firmware/src/board/rp2040/usb.rs`, and Raspberry Pi's.
                usb: &[
                    UsbId {
                        vendor: 0x1209,
                        product: Some(0x0001),
                    },
                    UsbId {
                        vendor: 0x2E8A,
                        product: None,
                    },
                ],
            },
            Self::Stm32l4r5 => &Row {
                name: "stm32",
                chip: "stm32l4r5",
                title: "Nucleo-L4R5ZI",
                nickname: "nucleo",
                triple: "thumbv7em-none-eabihf",
                core: CORTEX_M4,
                program_address: 0x0800_0000,
                shard_address: 0x0806_0000,
                flash_bytes: 2 << 20,
                key_bytes: 8 << 10,
                most_samples: 2_000,
                preset: "stm32l4r5",
                one_epoch: OneEpoch {
                    fixed: 1.8e6,
                    per_sample: 35e3,
                },
                keeps_log: true,
                emulator: None,
                boot_drive: None,
                // DBGMCU_IDCODE (RM0432, 57.6.1); 0x470 is the family of the L4R5.
                debug_port: Some(DebugPort {
                    target: "STM32L4R5ZITx",
                    id_register: 0xE004_2000,
                    id_mask: 0xFFF,
                    id: 0x470,
                }),
                // Any ST-Link.
                usb: &[UsbId {
                    vendor: 0x0483,
                    product: None,
                }],
            },
            Self::M4 => &Row {
                name: "emulated",
                chip: "m4",
                title: "QEMU's mps2-an386",
                nickname: "m4",
                triple: "thumbv7em-none-eabihf",
                core: CORTEX_M4,
                program_address: 0,
                shard_address: 0x0006_0000,
                flash_bytes: 2 << 20,
                key_bytes: 8 << 10,
                most_samples: 2_000,
                preset: "stm32l4r5",
                one_epoch: OneEpoch {
                    fixed: 1.8e6,
                    per_sample: 35e3,
                },
                keeps_log: false,
                emulator: Some(Emulator::Qemu {
                    machine: "mps2-an386",
                    // Behind the flash.
                    entropy_address: 0x0020_0000,
                }),
                boot_drive: None,
                debug_port: None,
                usb: &[],
            },
        }
    }
}

impl Board {
    /// Every board.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::VARIANTS.iter().copied()
    }

    /// Every board with an emulator.
    pub fn emulated() -> impl Iterator<Item = Self> {
        Self::all().filter(|board| board.row().emulator.is_some())
    }

    /// Every board that a probe or a drive can write.
    pub fn flashable() -> impl Iterator<Item = Self> {
        Self::all().filter(|board| board.is_flashable())
    }

    /// Every board that shows a drive in boot mode.
    pub fn with_boot_drive() -> impl Iterator<Item = Self> {
        Self::all().filter(|board| board.row().boot_drive.is_some())
    }

    /// Returns the board that a USB device is, as far as its numbers tell.
    #[must_use]
    pub fn of_usb(vendor: u16, product: u16) -> Option<Self> {
        Self::all().find(|board| board.row().usb.iter().any(|id| id.fits(vendor, product)))
    }

    /// Returns the name of its image and memory script.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Tells whether a probe or a drive can write it.
    #[must_use]
    pub const fn is_flashable(self) -> bool {
        self.row().debug_port.is_some() || self.row().boot_drive.is_some()
    }

    /// Returns where programs lie in the flash.
    #[must_use]
    pub const fn program_flash(self) -> Range<u32> {
        self.row().program_address..self.row().shard_address
    }

    /// Returns where the shard lies: the rest of the flash up to the board's keys.
    #[must_use]
    pub const fn shard_flash(self) -> Range<u32> {
        let row = self.row();
        row.shard_address..row.program_address + row.flash_bytes - row.key_bytes
    }
}

/// A board is written as its chip.
impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.row().chip)
    }
}

/// The chips of [`Board::VARIANTS`].
const CHIPS: [&str; Board::VARIANTS.len()] = {
    let mut chips = [""; Board::VARIANTS.len()];
    let mut at = 0;
    while at < chips.len() {
        chips[at] = Board::VARIANTS[at].row().chip;
        at += 1;
    }
    chips
};

impl Serialize for Board {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.row().chip)
    }
}

impl<'de> Deserialize<'de> for Board {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let chip = String::deserialize(deserializer)?;
        let board = Self::all().find(|board| board.row().chip == chip);
        board.ok_or_else(|| de::Error::unknown_variant(&chip, &CHIPS))
    }
}

/// Writes a list for people, as in `rp2040, stm32l4r5 or m4`.
pub fn list(words: impl IntoIterator<Item = impl fmt::Display>, last: &str) -> String {
    let mut words: Vec<String> = words.into_iter().map(|word| word.to_string()).collect();
    match words.pop() {
        None => String::new(),
        Some(only) if words.is_empty() => only,
        Some(end) => format!("{} {last} {end}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_linker_scripts() {
        for board in Board::all() {
            let path = format!(
                "{}/../firmware/memory/{}.x",
                env!("CARGO_MANIFEST_DIR"),
                board.name()
            );
            let script = std::fs::read_to_string(&path).unwrap();
            let script = script.to_lowercase();
            let shard = board.shard_flash();
            let shard = format!(
                "shard : origin = {:#010x}, length = {}k",
                shard.start,
                shard.len() >> 10
            );
            let program = format!(": origin = {:#010x}", board.program_flash().start);
            let keys = format!(
                "keys  : origin = {:#010x}, length = {}k",
                board.shard_flash().end,
                board.row().key_bytes >> 10
            );
            let entropy = match board.row().emulator {
                Some(Emulator::Qemu {
                    entropy_address, ..
                }) => format!("_entropy_start = {entropy_address:#010x};"),
                _ => String::new(),
            };
            for words in [shard, keys, program, entropy] {
                assert!(script.contains(&words), "{path} must say {words}");
            }
        }
        for board in [Board::Rp2040, Board::Stm32l4r5, Board::M4] {
            assert_eq!(board.shard_flash().len(), 1656 << 10);
        }
    }

    #[test]
    fn names_and_chips_tell_boards_apart() {
        for board in Board::all() {
            let row = board.row();
            let same = |it: &Board| it.row().name == row.name || it.row().chip == row.chip;
            assert_eq!(Board::all().filter(same).count(), 1, "{board}");
        }
    }

    #[test]
    fn lists_read_as_people_write_them() {
        assert_eq!(list(["one"], "or"), "one");
        assert_eq!(list(["one", "two"], "and"), "one and two");
        assert_eq!(list(["one", "two", "three"], "or"), "one, two or three");
    }
}
