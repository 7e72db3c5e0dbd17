//! Every board's image as a file: vector table, memory regions and the place of the shard. This
//! is all that can be checked of the STM32 image without the board.
//!
//! Under `CI=true` a missing image is a failure; elsewhere the test says how to build it.

use std::ops::Range;

use gleaner_host::device::Board;
use gleaner_host::device::image::{Program, is_strict};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};

fn image(board: Board) -> Option<Vec<u8>> {
    let path = board.image(Program::Client);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) if is_strict() => panic!("{}: {error}", path.display()),
        Err(_) => {
            let alias = board.alias(Program::Client);
            eprintln!("\n*** SKIPPED: run `cargo {alias}` first ***\n");
            None
        }
    }
}

/// Addresses as an ELF file has them.
fn wide(range: Range<u32>) -> Range<u64> {
    range.start.into()..range.end.into()
}

#[test]
fn vector_tables_and_segments_lie_where_the_chips_expect_them() {
    for board in Board::all() {
        let Some(bytes) = image(board) else { continue };
        let (name, built) = (board.name(), board.row().built);
        let (flash, ram) = (wide(board.program_flash()), wide(built.ram.range()));
        let elf = object::File::parse(&*bytes).unwrap();

        let table = elf.section_by_name(".vector_table").unwrap();
        let start = u64::from(built.program().start);
        assert_eq!(table.address(), start, "{name}");
        let words = table.data().unwrap();
        let word = |index: usize| {
            let bytes = words[4 * index..][..4].try_into().unwrap();
            u64::from(u32::from_le_bytes(bytes))
        };
        assert_eq!(word(0), ram.end, "{name}: the stack starts at RAM's top");
        assert_eq!(word(1) & 1, 1, "{name}: the reset handler is Thumb code");
        assert!(flash.contains(&word(1)), "{name}: {:#x}", word(1));
        assert_eq!(word(1), elf.entry() | 1, "{name}");

        for segment in elf.segments() {
            let (start, end) = (segment.address(), segment.address() + segment.size());
            let inside = |region: &Range<u64>| region.start <= start && end <= region.end;
            assert!(
                inside(&flash) || inside(&ram),
                "{name}: {start:#x}..{end:#x}"
            );
        }
    }
}

#[test]
fn images_are_linked_for_the_regions_and_samples_of_their_row() {
    for board in Board::all() {
        let Some(bytes) = image(board) else { continue };
        let (name, built) = (board.name(), board.row().built);
        let elf = object::File::parse(&*bytes).unwrap();
        let address = |symbol: &str| {
            let found = elf.symbols().find(|it| it.name() == Ok(symbol));
            found
                .unwrap_or_else(|| panic!("{name} has no {symbol}"))
                .address()
        };
        for region in built.kept() {
            let part = region.name.to_lowercase();
            let found = address(&format!("_{part}_start"))..address(&format!("_{part}_end"));
            assert_eq!(found, wide(region.range()), "{name} {part}");
        }
        let at = address("GLEANER_MAX_SAMPLES");
        let section = elf
            .sections()
            .find(|it| (it.address()..it.address() + it.size()).contains(&at));
        let word = section.unwrap().data_range(at, 4).unwrap().unwrap();
        let samples = u32::from_le_bytes(word.try_into().unwrap());
        assert_eq!(samples as usize, board.most_samples(), "{name}");
    }
}
