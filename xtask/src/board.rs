//! The boards whose images are built, as data.

use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::setup::toolchain::DeviceToolchain;

/// One board of the firmware.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    /// The binary, the suffix of its feature and the stem of its memory file.
    pub name: &'static str,
    /// The compilation target.
    pub triple: &'static str,
    /// What a person calls it.
    pub title: &'static str,
    /// The binary that an emulator trains small networks with.
    pub selftest: Option<&'static str>,
    /// Whether a test reads its log out of an emulator.
    pub log_is_read: bool,
    /// Whether a test runs its example application; that of others is built with the log.
    pub app_is_run: bool,
}

/// Every board; adding one here puts it into CI.
pub const BOARDS: [Board; 3] = [
    Board {
        name: "rp2040",
        triple: "thumbv6m-none-eabi",
        title: "Raspberry Pi Pico (RP2040)",
        selftest: Some("selftest-rp2040"),
        log_is_read: true,
        app_is_run: false,
    },
    Board {
        name: "stm32",
        triple: "thumbv7em-none-eabihf",
        title: "Nucleo-L4R5ZI (STM32)",
        selftest: None,
        log_is_read: false,
        app_is_run: false,
    },
    Board {
        name: "emulated",
        triple: "thumbv7em-none-eabihf",
        title: "QEMU mps2-an386 (Cortex-M4)",
        selftest: Some("selftest-emulated"),
        log_is_read: false,
        app_is_run: true,
    },
];

impl Board {
    /// Where cargo leaves the image.
    pub fn image(&self) -> String {
        format!("target/{}/firmware/{}", self.triple, self.name)
    }

    /// The linker script that states the board's limits.
    pub fn memory_script(&self) -> String {
        format!("firmware/memory/{}.x", self.name)
    }

    /// The binary of its example application.
    fn app(&self) -> String {
        format!("app-{}", self.name)
    }

    fn build(&self, toolchain: &DeviceToolchain) -> Result<()> {
        let mut cargo = toolchain.cargo("build", self.triple);
        self.choose(&mut cargo, "firmware", "");
        if let Some(selftest) = self.selftest {
            cargo.args(["--bin", selftest]);
        }
        if self.app_is_run {
            cargo.args(["--bin", &self.app()]);
        }
        process::run(&mut cargo)
    }

    /// Builds the image with its log where a test reads it, and checks that it compiles elsewhere.
    fn build_with_log(&self, toolchain: &DeviceToolchain) -> Result<()> {
        let subcommand = if self.log_is_read { "build" } else { "check" };
        let mut cargo = toolchain.cargo(subcommand, self.triple);
        self.choose(&mut cargo, "firmware-logs", ",defmt");
        if !self.app_is_run {
            cargo.args(["--bin", &self.app()]);
        }
        process::run(&mut cargo)
    }

    fn choose(&self, cargo: &mut Command, profile: &str, more_features: &str) {
        cargo.args(["--locked", "--package", "gleaner-firmware"]);
        cargo.args(["--profile", profile, "--no-default-features"]);
        let features = format!("board-{}{more_features}", self.name);
        cargo.args(["--features", &features, "--bin", self.name]);
    }
}

/// Builds every board's image.
pub fn build_all(toolchain: &DeviceToolchain) -> Result<()> {
    BOARDS.iter().try_for_each(|board| board.build(toolchain))
}

/// Compiles every board's image with its log.
pub fn build_all_with_logs(toolchain: &DeviceToolchain) -> Result<()> {
    BOARDS
        .iter()
        .try_for_each(|board| board.build_with_log(toolchain))
}
