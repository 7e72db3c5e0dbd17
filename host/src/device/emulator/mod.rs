//! Emulated boards: the firmware's images in rp2040js (RP2040) and QEMU (Cortex-M4).
//!
//! An emulated board is a child process with its UART on a TCP port; [`rp2040::Lockstep`] is the
//! same RP2040 with time under the caller's control, for tests that measure emulated time.

mod guard;
mod kind;
pub mod line;
pub mod machine;
pub mod prepare;
pub mod qemu;
pub mod rp2040;
pub mod trial;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::device::board::{self, Board};
pub use kind::Emulator;

/// Why an emulated board does not run.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// A program or package is not installed.
    #[error("{what} is missing: {fix}")]
    Missing {
        /// What is missing.
        what: String,
        /// What to type.
        fix: String,
    },
    /// Nothing emulates the board.
    #[error(
        "an {board} has no emulator; {} have",
        board::list(Board::emulated(), "and")
    )]
    NotEmulated {
        /// The board that was to be started.
        board: Board,
    },
    /// The image could not be built.
    #[error("{command} failed: {reason}")]
    Build {
        /// The command to repeat.
        command: String,
        /// What it said.
        reason: String,
    },
    /// The emulator ended or its pipe broke.
    #[error("{emulator}: {source}")]
    Io {
        /// Which emulator.
        emulator: &'static str,
        /// What happened.
        #[source]
        source: std::io::Error,
    },
    /// The emulator said something unexpected.
    #[error("{emulator}: unexpected answer {answer}")]
    Protocol {
        /// Which emulator.
        emulator: &'static str,
        /// What it said.
        answer: String,
    },
}

/// The workspace this build came from: images and the RP2040 runner lie there.
pub(crate) fn workspace() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// Tells whether a program is there and starts.
fn answers(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null());
    command.output().is_ok_and(|output| output.status.success())
}
