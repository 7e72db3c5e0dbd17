//! The emulators: QEMU for the Cortex-M4, rp2040js on Node.js for the RP2040; Unicorn for the STM32
//! is a package of Python (`python.rs`).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::process;
use crate::setup::{apt, missing};

/// A program the suite needs and the package that brings it, per package manager.
struct Tool {
    program: &'static str,
    apt: &'static [&'static str],
    brew: &'static str,
    dnf: &'static str,
}

const TOOLS: [Tool; 2] = [
    Tool {
        program: "qemu-system-arm",
        apt: &["qemu-system-arm"],
        brew: "qemu",
        dnf: "qemu-system-arm",
    },
    // Debian packages npm apart from Node.js.
    Tool {
        program: "npm",
        apt: &["nodejs", "npm"],
        brew: "node",
        dnf: "nodejs",
    },
];

/// The folder of our runner around rp2040js.
const RUNNER: &str = "emulator";

/// Says whether rp2040js is there to run our part of it.
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

/// Installs both emulators.
pub fn prepare() -> Result<()> {
    for tool in &TOOLS {
        if process::exists(tool.program) {
            println!("setup: {} is installed", tool.program);
        } else if let Err(error) = tool.install() {
            missing(&format!("{error:#}"))?;
        }
    }
    if runner_is_installed() {
        println!("setup: rp2040js is installed");
    } else if process::exists("npm") {
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
