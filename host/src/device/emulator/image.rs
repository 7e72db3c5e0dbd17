//! The boards that can be emulated.

use std::path::PathBuf;

use super::EmulatorError;
use crate::device::shard::Board;

pub(super) use crate::device::firmware::cargo;
pub use crate::device::firmware::{Program, is_strict};

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

    /// Returns the board it stands in for.
    #[must_use]
    pub const fn board(self) -> Board {
        match self {
            Self::Rp2040 => Board::Rp2040,
            Self::M4 => Board::Emulated,
        }
    }

    /// Checks that the compiler can build for the board.
    ///
    /// # Errors
    /// [`EmulatorError::Missing`] with the target to install.
    pub fn ensure_target(self) -> Result<(), EmulatorError> {
        self.board().ensure_target()
    }

    /// Builds the client's image; see [`Board::ensure`].
    ///
    /// # Errors
    /// As [`Board::ensure`].
    pub fn ensure_image(self) -> Result<PathBuf, EmulatorError> {
        self.ensure(Program::Client)
    }

    /// Builds an image; see [`Board::ensure`].
    ///
    /// # Errors
    /// As [`Board::ensure`].
    pub fn ensure(self, program: Program) -> Result<PathBuf, EmulatorError> {
        self.board().ensure(program)
    }
}
