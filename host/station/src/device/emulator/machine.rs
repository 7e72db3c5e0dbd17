//! An emulated board, independent of its emulator.

use std::net::SocketAddr;
use std::path::Path;

use super::qemu::Qemu;
use super::runner::Served;
use super::{Emulator, EmulatorError};
use crate::device::Board;
use crate::device::flash::target::Memory;
use crate::device::image::Program;

/// A running board with its UART on a TCP port; dropping it ends the emulator.
#[derive(Debug)]
pub enum Machine {
    /// A board in QEMU.
    Qemu(Qemu),
    /// A board in a runner of `emulator/`.
    Served(Served),
}

impl Machine {
    /// Builds the client's image if necessary and starts it with a shard in the board's flash.
    ///
    /// # Errors
    /// Names what is missing and how to install it.
    pub fn start(board: Board, shard: &Path) -> Result<Self, EmulatorError> {
        let image = board.ensure(Program::Client)?;
        Self::start_image(board, &image, Some(shard))
    }

    /// Starts an image, with an optional shard in the board's flash.
    ///
    /// # Errors
    /// Names what is missing and how to install it.
    pub fn start_image(
        board: Board,
        image: &Path,
        shard: Option<&Path>,
    ) -> Result<Self, EmulatorError> {
        match Emulator::of(board)? {
            Emulator::Qemu { .. } => Qemu::start(board, image, shard).map(Self::Qemu),
            Emulator::Rp2040js | Emulator::Unicorn => {
                Served::start(board, image, shard).map(Self::Served)
            }
        }
    }

    /// Returns the address of the UART.
    #[must_use]
    pub fn link(&self) -> SocketAddr {
        match self {
            Self::Qemu(machine) => machine.link(),
            Self::Served(machine) => machine.link(),
        }
    }

    /// Resets the board; RAM keeps its content.
    ///
    /// # Errors
    /// Returns an error if the emulator ended.
    pub fn reset(&mut self) -> Result<(), EmulatorError> {
        match self {
            Self::Qemu(machine) => machine.reset(),
            Self::Served(machine) => machine.reset().map(drop),
        }
    }

    /// Returns the memory of the chip, if the emulator gives access to it.
    pub fn memory(&mut self) -> Option<&mut dyn Memory> {
        match self {
            Self::Qemu(_) => None,
            Self::Served(machine) => Some(machine),
        }
    }
}
