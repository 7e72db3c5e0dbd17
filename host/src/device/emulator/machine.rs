//! Any emulated board, whichever program emulates it.

use std::net::SocketAddr;
use std::path::Path;

use super::EmulatorError;
use super::image::EmulatedBoard;
use super::qemu::Qemu;
use super::rp2040::Rp2040;

/// A running board with its UART on a TCP port; dropping it switches it off.
#[derive(Debug)]
pub enum Machine {
    /// A Cortex-M4 in QEMU.
    M4(Qemu),
    /// An RP2040 in rp2040js.
    Rp2040(Rp2040),
}

impl Machine {
    /// Builds the board's image if need be and starts it with a shard in its flash.
    ///
    /// # Errors
    /// Names what is missing and how to install it.
    pub fn start(board: EmulatedBoard, shard: &Path) -> Result<Self, EmulatorError> {
        let image = board.ensure_image()?;
        match board {
            EmulatedBoard::M4 => Qemu::start(&image, Some(shard)).map(Self::M4),
            EmulatedBoard::Rp2040 => Rp2040::start(&image, Some(shard)).map(Self::Rp2040),
        }
    }

    /// Returns the address of the UART.
    #[must_use]
    pub fn link(&self) -> SocketAddr {
        match self {
            Self::M4(machine) => machine.link(),
            Self::Rp2040(machine) => machine.link(),
        }
    }

    /// Presses the reset button; RAM keeps its content.
    ///
    /// # Errors
    /// When the emulator ended.
    pub fn reset(&mut self) -> Result<(), EmulatorError> {
        match self {
            Self::M4(machine) => machine.reset(),
            Self::Rp2040(machine) => machine.reset().map(drop),
        }
    }
}
