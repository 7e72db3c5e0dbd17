//! Error of emulated boards and firmware images.

use gleaner_shared::board::Unfit;

use super::board::{self, Board};

/// Error starting an emulated board or building its image.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are the values in the message")]
pub enum EmulatorError {
    /// A program or package is not installed.
    #[error("{what} is missing: {fix}")]
    Missing { what: String, fix: String },
    /// The board has no emulator.
    #[error(
        "an {board} has no emulator; {} have",
        board::list(Board::emulated(), "and")
    )]
    NotEmulated { board: Board },
    /// The network does not fit the board.
    #[error("an {board} is not for this scenario: {reason}")]
    Unfit { board: Board, reason: Unfit },
    /// The image could not be built.
    #[error("{command} failed: {reason}")]
    Build { command: String, reason: String },
    /// The emulator ended or its pipe broke.
    #[error("{emulator}: {source}")]
    Io {
        emulator: &'static str,
        #[source]
        source: std::io::Error,
    },
    /// The emulator sent an unexpected answer.
    #[error("{emulator}: unexpected answer {answer}")]
    Protocol {
        emulator: &'static str,
        answer: String,
    },
}
