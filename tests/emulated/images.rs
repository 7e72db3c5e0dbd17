//! Every board's image as a file: vector table, memory regions and the place of the shard.

use std::ops::Range;

use gleaner_shared::board::Boot;
use gleaner_station::device::Board;
use gleaner_station::device::image::Program;
use gleaner_tests::emulated::skip;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};

fn image(board: Board) -> Option<Vec<u8>> {
    let path = board.image(Program::Client);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            let command = board.build_command(Program::Client);
            skip(&format!(
                "{}: {error}: run `{command}` first",
                path.display()
            ));
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
        let stack = wide(built.stack().range());
        assert_eq!(
            word(0),
            stack.end,
            "{name}: the stack has a region of its own"
        );
        assert_eq!(
            stack.start, ram.start,
            "{name}: nothing lies below the stack"
        );
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
            let on_stack = start < stack.end && stack.start < end;
            assert!(!on_stack, "{name}: {start:#x} is not above the stack");
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
        for region in built.data_regions() {
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

/// What an RP2350's boot ROM looks for in the first 4 KB (datasheet, 5.9): a block of one item that
/// says "executable, secure, ARM, RP2350", closed by its length and a loop back to itself.
#[test]
fn an_rp2350_finds_the_block_that_defines_its_image() {
    const SEARCHED_BYTES: usize = 4_096;
    const BLOCK: [u32; 5] = [0xFFFF_DED3, 0x1021_0142, 0x0000_01FF, 0, 0xAB12_3579];
    for board in Board::all().filter(|it| it.row().built.boot == Boot::ImageDefinition) {
        let Some(bytes) = image(board) else { continue };
        let elf = object::File::parse(&*bytes).unwrap();
        let start = u64::from(board.program_flash().start);
        let mut front = vec![0xFF; SEARCHED_BYTES];
        for section in elf.sections().filter(|it| it.file_range().is_some()) {
            let Some(at) = section.address().checked_sub(start) else {
                continue;
            };
            let data = section.data().unwrap();
            if let Some(room) = front.get_mut(at as usize..) {
                let length = room.len().min(data.len());
                room[..length].copy_from_slice(&data[..length]);
            }
        }
        let block: Vec<u8> = BLOCK.iter().flat_map(|word| word.to_le_bytes()).collect();
        let found = front
            .chunks(4)
            .enumerate()
            .filter(|(_, it)| **it == block[..4]);
        let places: Vec<usize> = found.map(|(word, _)| 4 * word).collect();
        assert_eq!(
            places.len(),
            1,
            "{board}: one block begins in {SEARCHED_BYTES} bytes"
        );
        assert_eq!(front[places[0]..][..block.len()], block, "{board}");
    }
}

/// The client's sums run in the chip's own kernels, not in their portable twin.
#[test]
fn images_for_cores_with_dsp_instructions_carry_their_kernels() {
    for board in Board::all().filter(|it| it.row().core.runs_m4_code) {
        let Some(bytes) = image(board) else { continue };
        let elf = object::File::parse(&*bytes).unwrap();
        let mut names = elf.symbols().filter_map(|it| it.name().ok());
        assert!(names.any(|name| name.contains("walk_pixels")), "{board}");
    }
}
