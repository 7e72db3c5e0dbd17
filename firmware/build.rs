//! Places the chosen board's memory map and names the build.
//!
//! The linker runs in the workspace root and takes the `memory.x` it finds there, which only
//! includes `board_memory.x`; this script writes that file from the board's row.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

// // Includes the rows as source: a dependency would compile all of gleaner-shared for this script.
#[allow(
    dead_code,
    unused_imports,
    reason = "a memory map needs only part of it"
)]
#[path = "../shared/src/board/mod.rs"]
mod board;

use board::{BOARDS, Board, Boot, M4, Shape};

/// The network an image is built for, `784-50-10` unless it is set.
const NETWORK: &str = "GLEANER_NETWORK";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../shared/src/board");
    println!("cargo:rerun-if-env-changed={NETWORK}");
    let network = network();
    println!("cargo:rustc-env={NETWORK}={network}");
    let mut chosen = BOARDS.into_iter().filter(|board| is_chosen(board));
    let board = chosen.next();
    if let (Some(one), Some(other)) = (board, chosen.next()) {
        let (one, other) = (one.name, other.name);
        panic!("choose one board: the features board-{one} and board-{other} exclude each other");
    }
    println!("cargo:rustc-env=GLEANER_BUILD={}", build_id(board));
    // Tests on the host use the memory sizes of m4, which exists in QEMU alone.
    let name = board.unwrap_or(&M4).name;
    println!("cargo:rustc-env=GLEANER_BOARD={name}");
    if let Some(board) = board {
        match board.built_for(network) {
            Ok(board) => place_memory_map(&board),
            Err(reason) => panic!("{}: {reason}", board.title),
        }
    }
}

/// Returns the sizes of the network.
fn network() -> Shape {
    let text = env::var(NETWORK).unwrap_or_default();
    match text.as_str() {
        "" => Shape::PAPER,
        text => (text.parse()).unwrap_or_else(|error| panic!("{NETWORK}={text}: {error}")),
    }
}

/// Tells whether the board's feature is on, as cargo spells it for build scripts.
fn is_chosen(board: &Board) -> bool {
    let feature = board.name.to_uppercase().replace('-', "_");
    env::var_os(format!("CARGO_FEATURE_BOARD_{feature}")).is_some()
}

fn place_memory_map(board: &Board) {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let write = |name: &str, text: &str| {
        fs::write(out.join(name), text).expect("OUT_DIR is writable");
    };
    write("board_memory.x", &memory_map(board));
    println!("cargo:rustc-link-search={}", out.display());
    // Set here because RUSTFLAGS of the environment would replace flags in `.cargo/config.toml`.
    println!("cargo:rustc-link-arg-bins=--nmagic");
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    if board.name == M4.name {
        // The register crates of the chips bring this file; m4 defines its own interrupt handlers.
        write("device.x", "");
    }
    if board.boot == Boot::Loader {
        println!("cargo:rustc-link-arg-bins=-Tlink-rp.x");
        println!("cargo:rustc-link-arg-bin=selftest-rp2040=--defsym=_deep_stack=1");
    }
    if env::var_os("CARGO_FEATURE_DEFMT").is_some() {
        println!("cargo:rustc-link-arg-bins=-Tdefmt.x");
    }
}

/// Places the block by which an RP2350 knows its program (datasheet, 5.9.5) behind the vector table,
/// and the program behind it; `embassy-rp` brings the block.
const IMAGE_DEFINITION: &str = "
SECTIONS {
    .start_block : ALIGN(4) { KEEP(*(.start_block)); } > FLASH
} INSERT AFTER .vector_table;
_stext = ADDR(.start_block) + SIZEOF(.start_block);
";

/// Writes the linker's `MEMORY` block and the symbols by which the program finds its data.
fn memory_map(board: &Board) -> String {
    let mut map = format!(
        "/* {}, from its row in shared/src/board/table.rs */\nMEMORY {{\n",
        board.title
    );
    let regions = (board.flash_regions().into_iter()).chain(board.ram_regions());
    for region in regions.filter(|region| region.bytes > 0) {
        let (name, start, bytes) = (region.name, region.start, region.bytes);
        let _ = writeln!(
            map,
            "    {name} : ORIGIN = {start:#010x}, LENGTH = {bytes:#x}"
        );
    }
    map.push_str("}\n");
    for region in board.data_regions() {
        let (upper, lower) = (region.name, region.name.to_lowercase());
        let _ = writeln!(map, "_{lower}_start = ORIGIN({upper});");
        let _ = writeln!(map, "_{lower}_end = ORIGIN({upper}) + LENGTH({upper});");
    }
    map.push_str(
        "_stack_start = DEFINED(_deep_stack) ? ORIGIN(RAM) + LENGTH(RAM) : ORIGIN(STACK_RAM) + LENGTH(STACK_RAM);\n\
         _stack_end = DEFINED(_deep_stack) ? ORIGIN(RAM) + LENGTH(RAM) - 64K : ORIGIN(STACK_RAM);\n\
         SECTIONS { .retained (NOLOAD) : ALIGN(4) { *(.retained .retained.*); } > RETAINED_RAM } INSERT AFTER .uninit;\n",
    );
    if let Some(address) = board.entropy_address {
        let _ = writeln!(map, "_entropy_start = {address:#010x};");
    }
    // Keeps the symbol: `gleaner flash` reads it from the image, the program does not use it.
    map.push_str("EXTERN(GLEANER_MAX_SAMPLES)\n");
    if board.boot == Boot::ImageDefinition {
        map.push_str(IMAGE_DEFINITION);
    }
    map
}

/// Returns `<commit>+<features>`, at most 32 bytes; a source archive without git is `unknown`.
fn build_id(board: Option<&Board>) -> String {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name]).unwrap_or_default();
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    let logging = if env::var_os("CARGO_FEATURE_DEFMT").is_some() {
        ",defmt"
    } else {
        ""
    };
    format!(
        "{commit}+{}{logging}",
        board.map_or("host", |board| board.name)
    )
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
