//! The base station's table of boards: what it knows of a board beyond what the image is built
//! from, which stands in [`gleaner_shared::board`].
//!
//! A new board is a variant of [`Board`] and its row in [`Board::row`]: code elsewhere reads rows
//! and does not ask which board it has. `docs/internals/boards.md` says what the firmware needs besides.

use std::fmt;
use std::ops::Range;

use gleaner_shared::board;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use strum::VariantArray;

use super::row::{
    CORTEX_M0_PLUS, CORTEX_M4, CORTEX_M33, DebugPort, Emulator, FlashTimes, Row, Uf2Drive, UsbId,
};

/// A W25Q16JV, the flash chip of a Pico (datasheet, 9.6).
const W25Q16JV: FlashTimes = FlashTimes {
    erase_s: 45e-3,
    program_s: 0.4e-3,
};

/// The flash of an STM32L4R5: a page of 4 KB, and 32 double words of 81.69 us (DS12023, 6.3.12).
const STM32L4R5_FLASH: FlashTimes = FlashTimes {
    erase_s: 22.02e-3,
    program_s: 2.614e-3,
};

/// A board that the firmware runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, VariantArray)]
pub enum Board {
    /// Raspberry Pi Pico.
    Rp2040,
    /// Raspberry Pi Pico 2.
    Rp2350,
    /// Nucleo-L4R5ZI.
    Stm32l4r5,
    /// Nucleo-L496ZG.
    Stm32l496,
    /// QEMU's mps2-an386, which only exists there.
    M4,
}

impl Board {
    /// Returns everything that is known of the board.
    #[must_use]
    pub const fn row(self) -> &'static Row {
        match self {
            Self::Rp2040 => &Row {
                built: &board::RP2040,
                nickname: "pico",
                core: CORTEX_M0_PLUS,
                preset: "rp2040",
                flash: W25Q16JV,
                emulator: Some(Emulator::Rp2040js),
                boot_drive: Some(Uf2Drive {
                    product: "Pico",
                    label: "RPI-RP2",
                    family: 0xE48B_FF56,
                }),
                // SYSINFO_CHIP_ID (datasheet, 2.20.2): revision, part 2, Raspberry Pi.
                debug_port: Some(DebugPort {
                    id_register: 0x4000_0000,
                    id_mask: 0x0FFF_FFFF,
                    id: 0x0000_2927,
                }),
                // Our own client, as in `firmware/src/board/rp/usb.rs`, and Raspberry Pi's.
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
            Self::Rp2350 => &Row {
                built: &board::RP2350,
                nickname: "pico2",
                core: CORTEX_M33,
                preset: "rp2350",
                // Assumed: a Pico's.
                flash: W25Q16JV,
                emulator: None,
                // Image and drive of ARM code in the secure state (datasheet, 5.5.3).
                boot_drive: Some(Uf2Drive {
                    product: "Pico 2",
                    label: "RP2350",
                    family: 0xE48B_FF59,
                }),
                // SYSINFO_CHIP_ID (datasheet, 12.15.3): revision, part 4, Raspberry Pi.
                debug_port: Some(DebugPort {
                    id_register: 0x4000_0000,
                    id_mask: 0x0FFF_FFFF,
                    id: 0x0000_4927,
                }),
                // Our own client, and Raspberry Pi's boot mode and serial port for this chip.
                usb: &[
                    UsbId {
                        vendor: 0x1209,
                        product: Some(0x0002),
                    },
                    UsbId {
                        vendor: 0x2E8A,
                        product: Some(0x000F),
                    },
                    UsbId {
                        vendor: 0x2E8A,
                        product: Some(0x0009),
                    },
                ],
            },
            Self::Stm32l4r5 => &Row {
                built: &board::STM32L4R5,
                nickname: "nucleo",
                core: CORTEX_M4,
                preset: "stm32l4r5",
                flash: STM32L4R5_FLASH,
                emulator: Some(Emulator::Unicorn),
                boot_drive: None,
                // DBGMCU_IDCODE (RM0432, 57.6.1); 0x470 is the family of the L4R5.
                debug_port: Some(DebugPort {
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
            Self::Stm32l496 => &Row {
                built: &board::STM32L496,
                nickname: "nucleo",
                core: CORTEX_M4,
                preset: "stm32l496",
                // Assumed: an STM32L4R5's, whose pages are twice as large.
                flash: FlashTimes {
                    erase_s: 44.04e-3,
                    ..STM32L4R5_FLASH
                },
                emulator: None,
                boot_drive: None,
                // DBGMCU_IDCODE (RM0351, 48.6.1); 0x461 is the family of the L496.
                debug_port: Some(DebugPort {
                    id_register: 0xE004_2000,
                    id_mask: 0xFFF,
                    id: 0x461,
                }),
                // An ST-Link, as on the Nucleo-L4R5ZI: its numbers do not tell the boards apart.
                usb: &[],
            },
            Self::M4 => &Row {
                built: &board::M4,
                nickname: "m4",
                core: CORTEX_M4,
                preset: "m4",
                // It stands for an STM32L4R5.
                flash: STM32L4R5_FLASH,
                emulator: Some(Emulator::Qemu {
                    machine: "mps2-an386",
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

    /// Returns the board that a USB device is, as far as its numbers tell: one that names the
    /// product comes before one that names its vendor alone.
    #[must_use]
    pub fn of_usb(vendor: u16, product: u16) -> Option<Self> {
        let fits = |of_vendor: bool| {
            let mut boards = Self::all();
            boards.find(|board| {
                let mut ids = board.row().usb.iter();
                ids.any(|id| id.fits(vendor, product) && id.product.is_none() == of_vendor)
            })
        };
        fits(false).or_else(|| fits(true))
    }

    /// Returns the board's name, as in `fleet.toml` and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().built.name
    }

    /// Returns the name the board had in earlier versions, which is still accepted.
    #[must_use]
    pub const fn former_name(self) -> Option<&'static str> {
        match self {
            Self::Stm32l4r5 => Some("stm32"),
            Self::M4 => Some("emulated"),
            Self::Rp2040 | Self::Rp2350 | Self::Stm32l496 => None,
        }
    }

    /// Returns the board with this name or former name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::all().find(|board| board.name() == word || board.former_name() == Some(word))
    }

    /// Returns the most samples of 784 bytes it trains on.
    #[must_use]
    pub const fn most_samples(self) -> usize {
        self.row().built.most_samples
    }

    /// Tells whether there is a build of the client with a log for it.
    #[must_use]
    pub const fn keeps_log(self) -> bool {
        self.row().built.keeps_log
    }

    /// Tells whether a probe or a drive can write it.
    #[must_use]
    pub const fn is_flashable(self) -> bool {
        self.row().debug_port.is_some() || self.row().boot_drive.is_some()
    }

    /// Returns where programs lie in the flash, with the loader in front of them.
    #[must_use]
    pub const fn program_flash(self) -> Range<u32> {
        let built = self.row().built;
        built.flash.start..built.program().end()
    }

    /// Returns where the shard lies: the rest of the flash up to the board's keys.
    #[must_use]
    pub const fn shard_flash(self) -> Range<u32> {
        self.row().built.shard().range()
    }
}

/// Writes the name of the board.
impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The names of [`Board::VARIANTS`].
const NAMES: [&str; Board::VARIANTS.len()] = {
    let mut names = [""; Board::VARIANTS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Board::VARIANTS[at].name();
        at += 1;
    }
    names
};

impl Serialize for Board {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Board {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| de::Error::unknown_variant(&name, &NAMES))
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
    fn every_board_that_is_built_has_its_row_here_and_only_one() {
        for built in board::BOARDS {
            let rows = Board::all().filter(|board| board.row().built == built);
            assert_eq!(rows.count(), 1, "{}", built.name);
        }
        assert_eq!(Board::all().count(), board::BOARDS.len());
    }

    #[test]
    fn usb_numbers_tell_the_picos_apart() {
        let board = |vendor, product| Board::of_usb(vendor, product).map(Board::name);
        assert_eq!(board(0x1209, 1), Some("rp2040"));
        assert_eq!(board(0x1209, 2), Some("rp2350"));
        assert_eq!(board(0x2E8A, 0x000F), Some("rp2350"));
        assert_eq!(board(0x2E8A, 0x0003), Some("rp2040"));
        assert_eq!(board(0x0483, 0x374B), Some("stm32l4r5"));
        assert_eq!(board(0x1209, 3), None);
    }

    #[test]
    fn names_and_former_names_are_accepted() {
        for board in Board::all() {
            assert_eq!(Board::named(board.name()), Some(board));
        }
        assert_eq!(Board::named("stm32"), Some(Board::Stm32l4r5));
        let former: Board = serde_json::from_str("\"emulated\"").unwrap();
        assert_eq!(former, Board::M4);
        assert_eq!(serde_json::to_string(&former).unwrap(), "\"m4\"");
    }

    #[test]
    fn lists_read_as_people_write_them() {
        assert_eq!(list(["one"], "or"), "one");
        assert_eq!(list(["one", "two"], "and"), "one and two");
        assert_eq!(list(["one", "two", "three"], "or"), "one, two or three");
    }
}
