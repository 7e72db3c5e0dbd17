//! The rows of the table of boards.

use super::row::{Board, Boot, Region};

const KB: u32 = 1 << 10;
const MB: u32 = 1 << 20;

/// All boards of the table.
pub const BOARDS: [&Board; 5] = [&RP2040, &RP2350, &STM32L4R5, &STM32L496, &M4];

/// Raspberry Pi Pico: six banks of RAM in one stretch (four striped, two small).
pub const RP2040: Board = Board {
    name: "rp2040",
    title: "Raspberry Pi Pico",
    triple: "thumbv6m-none-eabi",
    cores: 2,
    flash: Region::new("all flash", 0x1000_0000, 2 * MB),
    boot: Boot::Loader,
    program_bytes: 384 * KB,
    state_bytes: 176 * KB,
    key_bytes: 8 * KB,
    sector_bytes: 4 * KB,
    ram: Region::new("all RAM", 0x2000_0000, 264 * KB),
    stack_bytes: 12 * KB,
    entropy_address: None,
    // Limited by RAM: two models, and 52 bytes for the error row of each sample.
    most_samples: 1_000,
    probe_target: Some("RP2040"),
    self_test: true,
    app: true,
    keeps_log: true,
    phase_pins: Some(["GP2", "GP3", "GP4"]),
    clocks_hz: &[125_000_000, 62_500_000, 31_250_000],
};

/// Raspberry Pi Pico 2: ten banks of RAM in one stretch (eight striped, two small).
pub const RP2350: Board = Board {
    name: "rp2350",
    title: "Raspberry Pi Pico 2",
    triple: "thumbv8m.main-none-eabihf",
    cores: 2,
    flash: Region::new("all flash", 0x1000_0000, 4 * MB),
    boot: Boot::ImageDefinition,
    program_bytes: 384 * KB,
    state_bytes: 176 * KB,
    key_bytes: 8 * KB,
    sector_bytes: 4 * KB,
    ram: Region::new("all RAM", 0x2000_0000, 520 * KB),
    stack_bytes: 16 * KB,
    entropy_address: None,
    // Limited by RAM: two models, and 104 bytes for the error row of each sample.
    most_samples: 3_000,
    probe_target: Some("RP235x"),
    self_test: false,
    app: false,
    keeps_log: true,
    phase_pins: Some(["GP2", "GP3", "GP4"]),
    clocks_hz: &[150_000_000, 75_000_000, 50_000_000],
};

/// Nucleo-L4R5ZI: SRAM1, SRAM2's alias and SRAM3 adjoin.
pub const STM32L4R5: Board = Board {
    name: "stm32l4r5",
    title: "Nucleo-L4R5ZI",
    triple: "thumbv7em-none-eabihf",
    cores: 1,
    flash: Region::new("all flash", 0x0800_0000, 2 * MB),
    boot: Boot::VectorTable,
    program_bytes: 384 * KB,
    state_bytes: 176 * KB,
    key_bytes: 8 * KB,
    sector_bytes: 4 * KB,
    ram: Region::new("all RAM", 0x2000_0000, 640 * KB),
    stack_bytes: 64 * KB,
    entropy_address: None,
    // Limited by the flash.
    most_samples: 1_900,
    probe_target: Some("STM32L4R5ZITx"),
    self_test: true,
    app: true,
    keeps_log: true,
    phase_pins: Some(["PF13", "PF14", "PF15"]),
    clocks_hz: &[120_000_000, 60_000_000, 30_000_000],
};

/// Nucleo-L496ZG: SRAM1 and SRAM2's alias adjoin (RM0351, section 2.2.1).
pub const STM32L496: Board = Board {
    name: "stm32l496",
    title: "Nucleo-L496ZG",
    triple: "thumbv7em-none-eabihf",
    cores: 1,
    flash: Region::new("all flash", 0x0800_0000, MB),
    boot: Boot::VectorTable,
    program_bytes: 320 * KB,
    state_bytes: 176 * KB,
    key_bytes: 4 * KB,
    sector_bytes: 2 * KB,
    ram: Region::new("all RAM", 0x2000_0000, 320 * KB),
    stack_bytes: 32 * KB,
    entropy_address: None,
    // Limited by the flash, which has room for 683.
    most_samples: 680,
    probe_target: Some("STM32L496ZGTx"),
    self_test: false,
    app: false,
    keeps_log: true,
    phase_pins: Some(["PF13", "PF14", "PF15"]),
    clocks_hz: &[80_000_000, 40_000_000, 20_000_000],
};

/// QEMU's mps2-an386: 2 of its 4 MB of code memory act as flash, and the host places random bytes
/// after them.
pub const M4: Board = Board {
    name: "m4",
    title: "QEMU's mps2-an386",
    triple: "thumbv7em-none-eabihf",
    cores: 1,
    flash: Region::new("all flash", 0, 2 * MB),
    boot: Boot::VectorTable,
    program_bytes: 384 * KB,
    state_bytes: 176 * KB,
    key_bytes: 8 * KB,
    sector_bytes: 4 * KB,
    ram: Region::new("all RAM", 0x2000_0000, 640 * KB),
    stack_bytes: 64 * KB,
    entropy_address: Some(0x0020_0000),
    most_samples: 1_900,
    probe_target: None,
    self_test: true,
    app: true,
    keeps_log: false,
    phase_pins: None,
    // Counts instructions, one per nanosecond.
    clocks_hz: &[1_000_000_000],
};
