//! The firmware's images: where cargo leaves them, and how they are built.

use std::path::{Path, PathBuf};
use std::process::Command;

pub use gleaner_shared::board::Program;
use gleaner_shared::board::{self, Image, Shape};

use super::board::Board;
use super::error::EmulatorError;

/// The variable by which a build learns of the network.
const NETWORK: &str = "GLEANER_NETWORK";

impl Board {
    /// Returns its row as images for a network are built: the samples it trains on at most, and where
    /// they lie.
    ///
    /// # Errors
    /// When the network does not fit the board, with the numbers.
    pub fn built_for(self, network: Shape) -> Result<board::Board, EmulatorError> {
        let built = self.row().built.built_for(network);
        built.map_err(|reason| EmulatorError::Unfit {
            board: self,
            reason,
        })
    }

    /// Returns the command that builds a program.
    #[must_use]
    pub fn build_command(self, program: Program) -> String {
        Image(self.row().built, program).to_string()
    }

    /// Returns where cargo leaves the image of a program for 784-50-10.
    #[must_use]
    pub fn image(self, program: Program) -> PathBuf {
        self.image_for(program, Shape::PAPER)
    }

    /// Returns where cargo leaves the image of a program for a network.
    #[must_use]
    pub fn image_for(self, program: Program, network: Shape) -> PathBuf {
        let image = Image(self.row().built, program).path().to_string();
        images_of(network).join(image)
    }

    /// Checks that the compiler can build for the board.
    ///
    /// # Errors
    /// [`EmulatorError::Missing`] with the target to install.
    pub fn ensure_target(self) -> Result<(), EmulatorError> {
        let triple = self.row().built.triple;
        if target_installed(triple) {
            return Ok(());
        }
        Err(EmulatorError::Missing {
            what: format!("the compiler's target {triple}"),
            fix: format!("rustup target add {triple}"),
        })
    }

    /// Builds the image of a program for 784-50-10, or reports what is missing.
    ///
    /// # Errors
    /// As [`Board::ensure_for`].
    pub fn ensure(self, program: Program) -> Result<PathBuf, EmulatorError> {
        self.ensure_for(program, Shape::PAPER)
    }

    /// Builds the image of a program for a network, or reports what is missing; one that is up to date takes
    /// no time, unless another network's was built since. Every network has its own place for images; what
    /// does not depend on it is compiled once.
    ///
    /// Under `CI=true` the image must have been built before, so that what is tested is what was
    /// measured.
    ///
    /// # Errors
    /// [`EmulatorError::Unfit`] when the board is too small for the network, before anything is built;
    /// [`EmulatorError::Missing`] without the image and the target to build it for,
    /// [`EmulatorError::Build`] with the compiler's words.
    pub fn ensure_for(self, program: Program, network: Shape) -> Result<PathBuf, EmulatorError> {
        self.built_for(network)?;
        let image = self.image_for(program, network);
        let mut command = self.build_command(program);
        if network != Shape::PAPER {
            let folder = images_of(network);
            command = format!(
                "{NETWORK}={network} CARGO_TARGET_DIR={} {command}",
                folder.display()
            );
        }
        if is_strict() {
            return existing(image, command);
        }
        if let Err(missing) = self.ensure_target() {
            return existing(image, command).map_err(|_| missing);
        }
        let arguments = Image(self.row().built, program).arguments().to_string();
        let output = cargo(&["build", "--target", self.row().built.triple])
            .args(arguments.split(' '))
            .envs(environment(network))
            .output()
            .map_err(|source| EmulatorError::Io {
                emulator: "cargo",
                source,
            })?;
        if output.status.success() {
            existing(image, command)
        } else {
            Err(EmulatorError::Build {
                command,
                reason: String::from_utf8_lossy(&output.stderr).into_owned(),
            })
        }
    }
}

/// Returns what a build for a network has in its environment: intermediate files are where those of all
/// images are, images have a place of their own.
fn environment(network: Shape) -> Vec<(&'static str, std::ffi::OsString)> {
    if network == Shape::PAPER {
        return vec![(NETWORK, "".into())];
    }
    vec![
        (NETWORK, network.to_string().into()),
        ("CARGO_BUILD_BUILD_DIR", target_directory().into()),
        ("CARGO_TARGET_DIR", images_of(network).into()),
    ]
}

/// Returns the folder of the images for a network.
fn images_of(network: Shape) -> PathBuf {
    let target = target_directory();
    match network {
        Shape::PAPER => target,
        other => target.join("networks").join(other.to_string()),
    }
}

/// A cargo command in this workspace.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(workspace());
    command
}

/// Tells whether nothing may be missing.
#[must_use]
pub fn is_strict() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

fn existing(image: PathBuf, command: String) -> Result<PathBuf, EmulatorError> {
    if image.is_file() {
        Ok(image)
    } else {
        Err(EmulatorError::Missing {
            what: image.display().to_string(),
            fix: command,
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

/// The workspace this build came from: images and the RP2040 runner lie there.
pub(super) fn workspace() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root.pop();
    root
}
