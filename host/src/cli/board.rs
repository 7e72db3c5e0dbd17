//! Command-line options that take a board's name.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use gleaner_station::device::Board;

/// Parses the name of a board's image.
pub fn by_name() -> impl TypedValueParser<Value = Board> {
    let value = |board: Board| PossibleValue::new(board.name()).help(board.row().built.title);
    PossibleValuesParser::new(Board::all().map(value))
        .try_map(|name| find(Board::all().find(|board| board.name() == name), &name))
}

/// Parses the chip, or the name of the image, of a board that has an emulator.
pub fn emulated_by_chip() -> impl TypedValueParser<Value = Board> {
    let value = |board: Board| PossibleValue::new(board.chip()).alias(board.name());
    PossibleValuesParser::new(Board::emulated().map(value))
        .try_map(|chip| find(emulated(&chip), &chip))
}

/// Returns the board with that chip or name of its image, if it has an emulator.
pub fn emulated(word: &str) -> Option<Board> {
    Board::emulated().find(|board| [board.chip(), board.name()].contains(&word))
}

/// Converts a word that the value parser has already accepted.
fn find(board: Option<Board>, word: &str) -> Result<Board, String> {
    board.ok_or_else(|| format!("there is no board {word}"))
}
