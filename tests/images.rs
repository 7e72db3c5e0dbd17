//! Every board's image as a file: vector table, memory regions and the place of the shard.
//!
//! Under `CI=true` a missing image is a failure; elsewhere the test says how to build it.

use std::ops::Range;
use std::path::PathBuf;

use gleaner_host::device::Board;
use gleaner_host::device::image::is_strict;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};

/// A board and where its memories lie.
struct Map {
    board: Board,
    triple: &'static str,
    /// Where the vector table is.
    vectors: u64,
    flash: Range<u64>,
    ram: Range<u64>,
}

const KB: u64 = 1024;

const MAPS: [Map; 3] = [
    Map {
        board: Board::Rp2040,
        triple: "thumbv6m-none-eabi",
        vectors: 0x1000_0100,
        flash: 0x1000_0000..0x1006_0000,
        ram: 0x2000_0000..0x2000_0000 + 264 * KB,
    },
    Map {
        board: Board::Stm32l4r5,
        triple: "thumbv7em-none-eabihf",
        vectors: 0x0800_0000,
        flash: 0x0800_0000..0x0806_0000,
        ram: 0x2000_0000..0x2000_0000 + 640 * KB,
    },
    Map {
        board: Board::M4,
        triple: "thumbv7em-none-eabihf",
        vectors: 0,
        flash: 0..0x0006_0000,
        ram: 0x2000_0000..0x2000_0000 + 640 * KB,
    },
];

fn image(map: &Map) -> Option<Vec<u8>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let path = target
        .join(map.triple)
        .join("firmware")
        .join(map.board.name());
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) if is_strict() => panic!("{}: {error}", path.display()),
        Err(_) => {
            eprintln!(
                "\n*** SKIPPED: run `cargo fw-{}` first ***\n",
                map.board.name()
            );
            None
        }
    }
}

#[test]
fn vector_tables_and_segments_lie_where_the_chips_expect_them() {
    for map in &MAPS {
        let Some(bytes) = image(map) else { continue };
        let name = map.board.name();
        let elf = object::File::parse(&*bytes).unwrap();

        let table = elf.section_by_name(".vector_table").unwrap();
        assert_eq!(table.address(), map.vectors, "{name}");
        let words = table.data().unwrap();
        let word = |index: usize| {
            let bytes = words[4 * index..][..4].try_into().unwrap();
            u64::from(u32::from_le_bytes(bytes))
        };
        assert_eq!(
            word(0),
            map.ram.end,
            "{name}: the stack starts at the top of RAM"
        );
        assert_eq!(word(1) & 1, 1, "{name}: the reset handler is Thumb code");
        assert!(map.flash.contains(&word(1)), "{name}: {:#x}", word(1));
        assert_eq!(word(1), elf.entry() | 1, "{name}");

        for segment in elf.segments() {
            let (start, end) = (segment.address(), segment.address() + segment.size());
            let inside = |region: &Range<u64>| region.start <= start && end <= region.end;
            assert!(
                inside(&map.flash) || inside(&map.ram),
                "{name}: {start:#x}..{end:#x}"
            );
        }
    }
}

#[test]
fn images_look_for_their_shard_where_the_host_puts_it_and_keep_keys_behind_it() {
    for map in &MAPS {
        let Some(bytes) = image(map) else { continue };
        let elf = object::File::parse(&*bytes).unwrap();
        let (row, shard) = (map.board.row(), map.board.shard_flash());
        for (symbol, address) in [
            ("_shard_start", shard.start),
            ("_shard_end", shard.end),
            ("_keys_start", shard.end),
            ("_keys_end", shard.end + row.key_bytes),
        ] {
            let found = elf
                .symbols()
                .find(|it| it.name() == Ok(symbol))
                .map(|it| it.address());
            assert_eq!(found, Some(address.into()), "{} {symbol}", row.name);
        }
        assert_eq!(map.flash.end, u64::from(row.shard_address));
    }
}
