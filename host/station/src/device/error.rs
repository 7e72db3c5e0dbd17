//! Why an emulated board, or the image it is to run, is not there.

use gleaner_shared::board::Unfit;

use super::board::{self, Board};

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
    /// The network does not fit the board.
    #[error("an {board} is not for this scenario: {reason}")]
    Unfit {
        /// The board.
        board: Board,
        /// Why not, with the numbers.
        reason: Unfit,
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
