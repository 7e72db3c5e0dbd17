//! The emulators there are, and what each of them can tell.

use std::process::Command;

use super::{EmulatorError, qemu, rp2040, unicorn};
use crate::device::Board;
pub use crate::device::row::Emulator;

impl Emulator {
    /// Returns what emulates a board.
    ///
    /// # Errors
    /// [`EmulatorError::NotEmulated`] where nothing does.
    pub fn of(board: Board) -> Result<Self, EmulatorError> {
        let emulator = board.row().emulator;
        emulator.ok_or(EmulatorError::NotEmulated { board })
    }

    /// Returns what it counts while a board computes.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Rp2040js | Self::Unicorn => "cycles",
            Self::Qemu { .. } => "instructions",
        }
    }

    /// Tells whether a line's time is the board's own, and repeatable.
    #[must_use]
    pub const fn emulates_time(self) -> bool {
        matches!(self, Self::Rp2040js | Self::Unicorn)
    }

    /// Returns what people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rp2040js => "rp2040js",
            Self::Qemu { .. } => "qemu-system-arm",
            Self::Unicorn => "Unicorn",
        }
    }

    /// Returns the command line of our runner around it, where there is one.
    pub(super) fn runner(self) -> Option<Command> {
        match self {
            Self::Rp2040js => Some(rp2040::runner()),
            Self::Unicorn => Some(unicorn::runner()),
            Self::Qemu { .. } => None,
        }
    }

    /// Returns the options with which our runner leaves nothing out that it can count.
    #[must_use]
    pub const fn exactly(self) -> &'static [&'static str] {
        match self {
            Self::Unicorn => &["--waits", "--burst", "1"],
            Self::Rp2040js | Self::Qemu { .. } => &[],
        }
    }

    /// Checks that it is there.
    ///
    /// # Errors
    /// [`EmulatorError::Missing`] with what to install.
    pub fn ensure_installed(self) -> Result<(), EmulatorError> {
        match self {
            Self::Rp2040js => rp2040::ensure_installed(),
            Self::Qemu { .. } => qemu::ensure_installed(),
            Self::Unicorn => unicorn::ensure_installed(),
        }
    }
}
