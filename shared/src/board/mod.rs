//! The table of boards: one row tells how a board's image is built and where its memories are.
//!
//! The firmware's build script writes the linker's memory map from the row; the base station and
//! `cargo xtask` read the same rows. What only the base station needs (USB numbers, drives,
//! emulators) is in its own table.
//!
//! A row describes the image of 784-50-10; [`Board::built_for`] returns the row of another network,
//! or why it does not fit.
//!
//! The build script includes this folder as source, so nothing here uses the rest of the crate.
//!
//! ```
//! use gleaner_shared::board::{Image, Program, RP2040, Shape, named};
//!
//! let board = named("rp2040");
//! assert_eq!((board.title, board.most_samples), ("Raspberry Pi Pico", 1_000));
//! let small = RP2040.built_for("64-32-10".parse::<Shape>().unwrap()).unwrap();
//! assert!(small.most_samples > 1_000);
//! assert_eq!(Image(board, Program::SelfTest).to_string(), "cargo xtask firmware rp2040 --selftest");
//! ```

mod budget;
mod image;
mod row;
mod shape;
mod table;

pub use budget::{Unfit, update_bytes};
pub use image::{Image, Program};
pub use row::{Board, Boot, Region};
pub use shape::{MOST_CLASSES, MOST_HIDDEN, MOST_INPUTS, NoShape, Shape, ShapeError};
pub use table::{BOARDS, M4, RP2040, RP2350, STM32L4R5, STM32L496};

/// Returns the row of the board with this name.
///
/// # Panics
/// If no row has that name; in a constant, this stops the build.
#[must_use]
pub const fn named(name: &str) -> &'static Board {
    let mut at = 0;
    while at < BOARDS.len() {
        if is_same(BOARDS[at].name, name) {
            return BOARDS[at];
        }
        at += 1;
    }
    panic!("the table of boards has no row of that name")
}

/// Compares texts in a constant, where `==` is not allowed yet.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_name_and_names_are_unique() {
        for board in BOARDS {
            assert_eq!(named(board.name), board);
            let same = |it: &&&Board| it.name == board.name;
            assert_eq!(BOARDS.iter().filter(same).count(), 1, "{}", board.name);
        }
    }

    #[test]
    fn names_with_the_same_beginning_differ() {
        assert!(is_same("stm32", "stm32"));
        assert!(!is_same("stm32", "stm32l496"));
        assert!(!is_same("stm32l496", "stm32"));
        assert!(!is_same("rp2040", "rp2350"));
    }

    #[test]
    fn arguments_name_target_profile_features_and_binary() {
        let words = |board, program| Image(board, program).arguments().to_string();
        assert_eq!(
            words(&RP2040, Program::App),
            "--locked --package gleaner-firmware --profile firmware --no-default-features \
             --features board-rp2040,one-core --bin app-rp2040"
        );
        let logs = Image(&STM32L496, Program::LoggingClient);
        assert!(
            logs.arguments()
                .to_string()
                .ends_with("board-stm32l496,defmt --bin stm32l496")
        );
        let path = "thumbv7em-none-eabihf/firmware-logs/stm32l496";
        assert_eq!(logs.path().to_string(), path);
        assert_eq!(logs.to_string(), "cargo xtask firmware stm32l496 --logs");
    }

    #[test]
    fn regions_adjoin_and_end_where_their_memory_ends() {
        for board in BOARDS {
            adjoin(board, board.flash, &board.flash_regions());
            adjoin(board, board.ram, &board.ram_regions());
        }
    }

    fn adjoin(board: &Board, memory: Region, regions: &[Region]) {
        let mut at = memory.start;
        for region in regions {
            assert_eq!(region.start, at, "{} {}", board.name, region.name);
            at = region.end();
        }
        assert_eq!(at, memory.end(), "{}", board.name);
    }

    #[test]
    fn regions_that_are_erased_begin_at_a_sector() {
        for board in BOARDS {
            let sector = board.sector_bytes;
            for region in board.data_regions() {
                let name = region.name;
                assert_eq!(region.start % sector, 0, "{} {name}", board.name);
                assert_eq!(region.bytes % sector, 0, "{} {name}", board.name);
            }
            assert_eq!(board.key_bytes, 2 * sector, "{}", board.name);
        }
    }
}
