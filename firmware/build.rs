//! Places the chosen board's memory map and names the build.
//!
//! The linker runs in the workspace root and takes the `memory.x` it finds there, which only
//! includes `board_memory.x`; this script writes that file from `memory/<board>.x`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Board feature, as cargo spells it for build scripts, and the memory map of that board.
const BOARDS: [(&str, &str); 3] = [
    ("CARGO_FEATURE_BOARD_RP2040", "rp2040"),
    ("CARGO_FEATURE_BOARD_STM32", "stm32"),
    ("CARGO_FEATURE_BOARD_EMULATED", "emulated"),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let board = BOARDS
        .iter()
        .find(|(feature, _)| env::var_os(feature).is_some())
        .map(|&(_, board)| board);
    println!("cargo:rustc-env=GLEANER_BUILD={}", build_id(board));
    if let Some(board) = board {
        place_memory_map(board);
    }
}

fn place_memory_map(board: &str) {
    let source = PathBuf::from(format!("memory/{board}.x"));
    println!("cargo:rerun-if-changed={}", source.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::copy(&source, out.join("board_memory.x")).expect("the board's memory map is readable");
    println!("cargo:rustc-link-search={}", out.display());
    // Here and not in `.cargo/config.toml`, where RUSTFLAGS of the environment would erase them.
    println!("cargo:rustc-link-arg-bins=--nmagic");
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    if board == "emulated" {
        // Chips bring this file with their register crate; this machine names its own handlers.
        fs::write(out.join("device.x"), "").expect("OUT_DIR is writable");
    }
    if board == "rp2040" {
        println!("cargo:rustc-link-arg-bins=-Tlink-rp.x");
        for bin in ["selftest-rp2040", "ciphers-rp2040"] {
            println!("cargo:rustc-link-arg-bin={bin}=--defsym=_deep_stack=1");
        }
    }
    if env::var_os("CARGO_FEATURE_DEFMT").is_some() {
        println!("cargo:rustc-link-arg-bins=-Tdefmt.x");
    }
}

/// Returns `<commit>+<features>`, at most 32 bytes; a source archive without git is `unknown`.
fn build_id(board: Option<&str>) -> String {
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
    format!("{commit}+{}{logging}", board.unwrap_or("host"))
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
