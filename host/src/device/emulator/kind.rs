//! The emulators there are, and what each of them can tell.

use super::{EmulatorError, qemu, runner};
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
            Self::Rp2040js => "cycles",
            Self::Qemu { .. } => "instructions",
        }
    }

    /// Tells whether a line's time is the board's own, and repeatable.
    #[must_use]
    pub const fn emulates_time(self) -> bool {
        matches!(self, Self::Rp2040js)
    }

    /// Checks that it is there.
    ///
    /// # Errors
    /// [`EmulatorError::Missing`] with what to install.
    pub fn ensure_installed(self) -> Result<(), EmulatorError> {
        match self {
            Self::Rp2040js => runner::ensure_installed(),
            Self::Qemu { .. } => qemu::ensure_installed(),
        }
    }
}
