//! A compiler for the devices: rustup's targets, or `core` built from source.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Result, bail};

use crate::board::BOARDS;
use crate::process;

/// Returns the targets of the boards.
fn triples() -> BTreeSet<&'static str> {
    BOARDS.iter().map(|board| board.triple).collect()
}

/// Toolchain that compiles device code on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceToolchain {
    /// The targets' libraries are installed.
    Installed,
    /// `core` is built from the sources that belong to this compiler.
    FromSource {
        /// The cargo to use.
        cargo: String,
        /// The linker, where the compiler ships none.
        linker: Option<&'static str>,
    },
}

impl DeviceToolchain {
    /// Starts a cargo command for `triple`.
    pub fn cargo(&self, subcommand: &str, triple: &str) -> Command {
        match self {
            Self::Installed => {
                let mut cargo = process::cargo();
                cargo.args([subcommand, "--target", triple]);
                cargo
            }
            Self::FromSource { cargo, linker } => {
                let mut cargo = Command::new(cargo);
                cargo.args([subcommand, "-Zbuild-std=core", "--target", triple]);
                // The only way to build `core` with a stable compiler.
                cargo.env("RUSTC_BOOTSTRAP", "1");
                if let Some(linker) = linker {
                    let variable = triple.to_uppercase().replace('-', "_");
                    cargo.env(format!("CARGO_TARGET_{variable}_LINKER"), linker);
                }
                cargo
            }
        }
    }
}

/// Finds or installs a toolchain for every board and prints which.
pub fn prepare() -> Result<DeviceToolchain> {
    prepare_for(&triples())
}

/// Finds or installs a toolchain for some targets and prints which.
pub fn prepare_for(triples: &BTreeSet<&'static str>) -> Result<DeviceToolchain> {
    if installed(triples) {
        println!("setup: thumb targets are installed");
        return Ok(DeviceToolchain::Installed);
    }
    if process::exists("rustup") {
        println!("setup: installing the thumb targets with rustup");
        let add = ["target", "add"];
        let added = process::run(Command::new("rustup").args(add).args(triples));
        if added.is_ok() && installed(triples) {
            return Ok(DeviceToolchain::Installed);
        }
        println!("setup: rustup could not add the targets; trying to build core from source");
        let sources = process::run(Command::new("rustup").args(["component", "add", "rust-src"]));
        if sources.is_ok() && library_sources("rustc").is_some() {
            let cargo = process::cargo_path();
            return Ok(DeviceToolchain::FromSource {
                cargo,
                linker: None,
            });
        }
    }
    distribution_toolchain()
}

fn installed(triples: &BTreeSet<&str>) -> bool {
    triples.iter().all(|triple| {
        process::output(Command::new("rustc").args([
            "--print",
            "target-libdir",
            "--target",
            triple,
        ]))
        .is_some_and(|path| {
            std::fs::read_dir(path.trim()).is_ok_and(|mut files| files.next().is_some())
        })
    })
}

/// Returns the folder of the library sources of `rustc`, if they are installed.
fn library_sources(rustc: &str) -> Option<std::path::PathBuf> {
    let root = process::output(Command::new(rustc).args(["--print", "sysroot"]))?;
    let path = std::path::Path::new(root.trim()).join("lib/rustlib/src/rust/library/core");
    path.is_dir().then_some(path)
}

/// Debian's compiler, whose packages carry the sources of `core` and a linker.
fn distribution_toolchain() -> Result<DeviceToolchain> {
    const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld"];
    if process::exists("apt-get") {
        println!("setup: installing Debian's compiler with sources");
        super::apt::install(&PACKAGES)?;
        if process::exists("/usr/bin/cargo") && library_sources("/usr/bin/rustc").is_some() {
            let cargo = "/usr/bin/cargo".to_owned();
            return Ok(DeviceToolchain::FromSource {
                cargo,
                linker: Some("ld.lld"),
            });
        }
    }
    bail!(
        "no compiler for the boards: run `rustup target add {}`, or install the packages {} \
         of Debian",
        triples().into_iter().collect::<Vec<_>>().join(" "),
        PACKAGES.join(" ")
    );
}
