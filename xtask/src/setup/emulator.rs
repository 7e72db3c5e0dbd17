//! The emulators: QEMU for the Cortex-M4, rp2040js on Node.js for the RP2040; Unicorn for the STM32
//! is a package of Python (`python.rs`).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::process;
use crate::setup::{apt, missing};

/// An emulator, with what it takes to install it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Rp2040js,
    Qemu,
    /// Runs in an environment of Python (`python.rs`).
    Unicorn,
}

/// Returns the emulator of a chip, or `None` where nothing emulates it.
pub fn of(chip: &str) -> Option<Kind> {
    match chip {
        "rp2040" => Some(Kind::Rp2040js),
        "stm32l4r5" => Some(Kind::Unicorn),
        "m4" => Some(Kind::Qemu),
        _ => None,
    }
}

/// A program the suite needs and the package that brings it, per package manager.
struct Tool {
    program: &'static str,
    apt: &'static [&'static str],
    brew: &'static str,
    dnf: &'static str,
}

const QEMU: Tool = Tool {
    program: "qemu-system-arm",
    apt: &["qemu-system-arm"],
    brew: "qemu",
    dnf: "qemu-system-arm",
};

// Debian packages npm apart from Node.js.
const NPM: Tool = Tool {
    program: "npm",
    apt: &["nodejs", "npm"],
    brew: "node",
    dnf: "nodejs",
};

/// The folder of our runner around rp2040js.
const RUNNER: &str = "emulator";

/// Tells whether rp2040js and Node.js are installed.
pub fn runner_is_installed() -> bool {
    let package = "node_modules/rp2040js/package.json";
    Path::new(RUNNER).join(package).is_file() && process::exists("node")
}

/// The files that test our runner, in order of their names.
pub fn runner_tests() -> Result<Vec<PathBuf>> {
    let folder = Path::new(RUNNER).join("test");
    let mut files = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".test.js") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Installs QEMU, the emulator of the Cortex-M4.
pub fn prepare_qemu() -> Result<()> {
    QEMU.prepare()
}

/// Installs rp2040js, the emulator of the RP2040, and Node.js for it.
pub fn prepare_rp2040js() -> Result<()> {
    if runner_is_installed() {
        println!("setup: rp2040js is installed");
        return Ok(());
    }
    NPM.prepare()?;
    if process::exists("npm") {
        println!("setup: installing rp2040js with npm");
        let npm = process::run(Command::new("npm").args([
            "ci",
            "--no-audit",
            "--no-fund",
            "--prefix",
            RUNNER,
        ]));
        if let Err(error) = npm {
            missing(&format!("{error:#}; run `npm ci --prefix {RUNNER}`"))?;
        }
    }
    Ok(())
}

impl Tool {
    fn prepare(&self) -> Result<()> {
        if process::exists(self.program) {
            println!("setup: {} is installed", self.program);
            return Ok(());
        }
        match self.install() {
            Ok(()) => Ok(()),
            Err(error) => missing(&format!("{error:#}")),
        }
    }

    fn install(&self) -> Result<()> {
        println!("setup: {} is missing, installing it", self.program);
        if process::exists("apt-get") {
            apt::install(self.apt)?;
        } else if process::exists("brew") {
            process::run(Command::new("brew").args(["install", self.brew]))?;
        } else if process::exists("dnf") {
            let mut dnf = Command::new("dnf");
            dnf.args(["install", "-y", self.dnf]);
            process::run(&mut process::as_root(dnf))?;
        }
        if !process::exists(self.program) {
            bail!(
                "{} is missing: install Debian's {}, Homebrew's {} or Fedora's {}",
                self.program,
                self.apt.join(" and "),
                self.brew,
                self.dnf
            );
        }
        Ok(())
    }
}
