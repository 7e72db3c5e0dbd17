//! The emulators and their properties: rp2040js on Node.js (`emulator/src`), the Unicorn engine on
//! Python (`emulator/stm32`), and QEMU.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{EmulatorError, answers, qemu, workspace};
use crate::device::Board;
pub use crate::device::row::Emulator;

impl Emulator {
    /// Returns the emulator of a board.
    ///
    /// # Errors
    /// Returns [`EmulatorError::NotEmulated`] for a board without one.
    pub fn of(board: Board) -> Result<Self, EmulatorError> {
        let emulator = board.row().emulator;
        emulator.ok_or(EmulatorError::NotEmulated { board })
    }

    /// Returns the unit of its counts: cycles or instructions.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Rp2040js | Self::Unicorn => "cycles",
            Self::Qemu { .. } => "instructions",
        }
    }

    /// Tells whether the time is emulated, and so repeatable.
    #[must_use]
    pub const fn emulates_time(self) -> bool {
        matches!(self, Self::Rp2040js | Self::Unicorn)
    }

    /// Returns the name of the emulator.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rp2040js => "rp2040js",
            Self::Qemu { .. } => "qemu-system-arm",
            Self::Unicorn => "Unicorn",
        }
    }

    /// Returns the command of the runner around it, if there is one.
    pub(super) fn runner(self) -> Option<Command> {
        match self {
            Self::Rp2040js => {
                let mut command = Command::new("node");
                command.arg(workspace().join("emulator/src/main.js"));
                Some(command)
            }
            Self::Unicorn => {
                let mut command = Command::new(unicorn_python());
                command.arg(workspace().join(UNICORN).join("main.py"));
                Some(command)
            }
            Self::Qemu { .. } => None,
        }
    }

    /// Returns the options of the runner for its most exact counts.
    #[must_use]
    pub const fn exactly(self) -> &'static [&'static str] {
        match self {
            Self::Unicorn => &["--waits", "--burst", "1"],
            Self::Rp2040js | Self::Qemu { .. } => &[],
        }
    }

    /// Checks that the emulator is installed.
    ///
    /// # Errors
    /// Returns [`EmulatorError::Missing`] with what to install.
    pub fn ensure_installed(self) -> Result<(), EmulatorError> {
        match self {
            Self::Rp2040js => ensure_rp2040js(),
            Self::Qemu { .. } => qemu::ensure_installed(),
            Self::Unicorn => ensure_unicorn(),
        }
    }
}

/// Folder of the Unicorn runner and its Python environment.
const UNICORN: &str = "emulator/stm32";

fn ensure_rp2040js() -> Result<(), EmulatorError> {
    let package = "emulator/node_modules/rp2040js/package.json";
    if !workspace().join(package).is_file() {
        return Err(EmulatorError::Missing {
            what: "rp2040js".to_owned(),
            fix: "npm ci --prefix emulator".to_owned(),
        });
    }
    answers("node")
        .then_some(())
        .ok_or_else(|| EmulatorError::Missing {
            what: "Node.js".to_owned(),
            fix: "install the package nodejs".to_owned(),
        })
}

/// Returns the Python of the runner's environment.
fn unicorn_python() -> PathBuf {
    let program = if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    };
    workspace().join(UNICORN).join(".venv").join(program)
}

fn ensure_unicorn() -> Result<(), EmulatorError> {
    let mut command = Command::new(unicorn_python());
    command.args(["-c", "import unicorn"]).stdin(Stdio::null());
    let imports = command.output().is_ok_and(|it| it.status.success());
    imports.then_some(()).ok_or_else(|| EmulatorError::Missing {
        what: "the Unicorn engine of the STM32's emulator".to_owned(),
        fix: format!(
            "install Python 3 with venv, then `python3 -m venv {UNICORN}/.venv` and \
             `{UNICORN}/.venv/bin/pip install -r {UNICORN}/requirements.txt`"
        ),
    })
}
