//! The boards that can be emulated and where their images are.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{EmulatorError, workspace};

/// What a board runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The federated client.
    Client,
    /// A thousand epochs of small networks, and their fingerprint.
    SelfTest,
}

/// A board with an emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EmulatedBoard {
    /// Raspberry Pi Pico in rp2040js.
    Rp2040,
    /// A Cortex-M4 in QEMU's mps2-an386.
    M4,
}

impl EmulatedBoard {
    /// Every board with an emulator.
    pub const ALL: [Self; 2] = [Self::Rp2040, Self::M4];

    /// Returns the name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rp2040 => "rp2040",
            Self::M4 => "m4",
        }
    }

    const fn binary(self) -> &'static str {
        match self {
            Self::Rp2040 => "rp2040",
            Self::M4 => "emulated",
        }
    }

    const fn triple(self) -> &'static str {
        match self {
            Self::Rp2040 => "thumbv6m-none-eabi",
            Self::M4 => "thumbv7em-none-eabihf",
        }
    }

    /// Returns where the shard lies, as in the board's linker script.
    #[must_use]
    pub const fn shard_address(self) -> u32 {
        match self {
            Self::Rp2040 => 0x1006_0000,
            Self::M4 => 0x0006_0000,
        }
    }

    /// Returns the cargo alias that builds the image.
    #[must_use]
    pub const fn alias(self) -> &'static str {
        match self {
            Self::Rp2040 => "fw-rp2040",
            Self::M4 => "fw-emulated",
        }
    }

    /// Returns where cargo leaves an image.
    #[must_use]
    pub fn image(self, program: Program) -> PathBuf {
        let binary = match program {
            Program::Client => self.binary().to_owned(),
            Program::SelfTest => format!("selftest-{}", self.binary()),
        };
        target_directory()
            .join(self.triple())
            .join("firmware")
            .join(binary)
    }

    /// Checks that the compiler can build for the board.
    ///
    /// # Errors
    /// [`EmulatorError::Missing`] with the target to install.
    pub fn ensure_target(self) -> Result<(), EmulatorError> {
        if target_installed(self.triple()) {
            return Ok(());
        }
        Err(EmulatorError::Missing {
            what: format!("the compiler's target {}", self.triple()),
            fix: format!("rustup target add {}", self.triple()),
        })
    }

    /// Builds the client's image; see [`Self::ensure`].
    ///
    /// # Errors
    /// As [`Self::ensure`].
    pub fn ensure_image(self) -> Result<PathBuf, EmulatorError> {
        self.ensure(Program::Client)
    }

    /// Builds an image, or reports what is missing; an image that is up to date takes no time.
    ///
    /// Under `CI=true` the image must have been built before, so that what is tested is what was
    /// measured.
    ///
    /// # Errors
    /// [`EmulatorError::Missing`] without the image and the target to build it for,
    /// [`EmulatorError::Build`] with the compiler's words.
    pub fn ensure(self, program: Program) -> Result<PathBuf, EmulatorError> {
        let image = self.image(program);
        if is_strict() {
            return existing(image, self.alias());
        }
        if let Err(missing) = self.ensure_target() {
            return existing(image, self.alias()).map_err(|_| missing);
        }
        let output = cargo(&[self.alias()])
            .output()
            .map_err(|source| EmulatorError::Io {
                emulator: "cargo",
                source,
            })?;
        if output.status.success() {
            existing(image, self.alias())
        } else {
            Err(EmulatorError::Build {
                command: format!("cargo {}", self.alias()),
                reason: String::from_utf8_lossy(&output.stderr).into_owned(),
            })
        }
    }
}

/// A cargo command in this workspace.
pub(super) fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(workspace());
    command
}

/// Tells whether nothing may be missing.
#[must_use]
pub fn is_strict() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

fn existing(image: PathBuf, alias: &str) -> Result<PathBuf, EmulatorError> {
    if image.is_file() {
        Ok(image)
    } else {
        Err(EmulatorError::Missing {
            what: image.display().to_string(),
            fix: format!("cargo {alias}"),
        })
    }
}

fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

fn target_installed(triple: &str) -> bool {
    let directory = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", triple])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok());
    directory.is_some_and(|path| {
        std::fs::read_dir(Path::new(path.trim())).is_ok_and(|mut files| files.next().is_some())
    })
}
