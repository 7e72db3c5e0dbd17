//! Options whose values are boards: `--help` lists the names, another word is refused.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use gleaner_station::device::Board;

/// Parses the name of a board.
pub fn by_name() -> impl TypedValueParser<Value = Board> {
    parser(Board::all())
}

/// Parses the name of a board that has an emulator.
pub fn emulated_board() -> impl TypedValueParser<Value = Board> {
    parser(Board::emulated())
}

fn parser(boards: impl Iterator<Item = Board>) -> impl TypedValueParser<Value = Board> {
    let value = |board: Board| {
        let title = board.row().built.title;
        let value = PossibleValue::new(board.name()).help(title);
        value.aliases(board.former_name())
    };
    PossibleValuesParser::new(boards.map(value))
        .try_map(|name| Board::named(&name).ok_or_else(|| format!("there is no board {name}")))
}

/// Returns the board of this name, if it has an emulator.
pub fn emulated(word: &str) -> Option<Board> {
    Board::named(word).filter(|board| board.row().emulator.is_some())
}
