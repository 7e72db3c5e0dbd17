//! The rows themselves.

use super::row::{Board, Region};

const KB: u32 = 1 << 10;
const MB: u32 = 1 << 20;

/// Every board.
pub const BOARDS: [&Board; 3] = [&RP2040, &STM32L4R5, &EMULATED];

/// Raspberry Pi Pico: six banks of RAM in one stretch (four striped, two small).
pub const RP2040: Board = Board {
    name: "rp2040",
    chip: "rp2040",
    title: "Raspberry Pi Pico",
    triple: "thumbv6m-none-eabi",
    flash: flash(0x1000_0000, 2 * MB),
    boot_bytes: 0x100,
    program_bytes: 384 * KB,
    state_bytes: 176 * KB,
    key_bytes: 8 * KB,
    ram: ram(0x2000_0000, 264 * KB),
    stack_bytes: 16 * KB,
    entropy_address: None,
    // What two models leave of the RAM, at 52 bytes for the error row of each sample.
    most_samples: 1_050,
    self_test: true,
    keeps_log: true,
};

/// Nucleo-L4R5ZI: SRAM1, SRAM2's alias and SRAM3 adjoin.
pub const STM32L4R5: Board = Board {
    name: "stm32",
    chip: "stm32l4r5",
    title: "Nucleo-L4R5ZI",
    triple: "thumbv7em-none-eabihf",
    flash: flash(0x0800_0000, 2 * MB),
    boot_bytes: 0,
    program_bytes: 384 * KB,
    state_bytes: 176 * KB,
    key_bytes: 8 * KB,
    ram: ram(0x2000_0000, 640 * KB),
    stack_bytes: 64 * KB,
    entropy_address: None,
    // The flash is the limit.
    most_samples: 1_900,
    self_test: true,
    keeps_log: true,
};

/// QEMU's mps2-an386, which only exists there: 2 of its 4 MB of code memory play the flash, and
/// the host leaves random bytes behind them.
pub const EMULATED: Board = Board {
    name: "emulated",
    chip: "m4",
    title: "QEMU's mps2-an386",
    triple: "thumbv7em-none-eabihf",
    flash: flash(0, 2 * MB),
    boot_bytes: 0,
    program_bytes: 384 * KB,
    state_bytes: 176 * KB,
    key_bytes: 8 * KB,
    ram: ram(0x2000_0000, 640 * KB),
    stack_bytes: 64 * KB,
    entropy_address: Some(0x0020_0000),
    most_samples: 1_900,
    self_test: true,
    keeps_log: false,
};

const fn flash(start: u32, bytes: u32) -> Region {
    Region {
        name: "all flash",
        start,
        bytes,
    }
}

const fn ram(start: u32, bytes: u32) -> Region {
    Region {
        name: "all RAM",
        start,
        bytes,
    }
}
