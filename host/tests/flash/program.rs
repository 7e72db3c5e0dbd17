//! Program files against chips.

use gleaner_station::device::Board;
use gleaner_station::device::flash::program::read;
use gleaner_station::device::image::{Program, is_strict};

use crate::folder::{ARM, Folder, elf_file};

fn complaint(name: &str, file: &[u8], board: Board) -> String {
    let folder = Folder::new(name);
    read(&folder.file("client", file), board)
        .unwrap_err()
        .to_string()
}

#[test]
fn segments_are_merged_at_their_load_addresses() {
    let folder = Folder::new("merge");
    let file = elf_file(ARM, &[(0x1000_0006, &[3, 4]), (0x1000_0000, &[1, 2])]);
    let part = read(&folder.file("client", file), Board::Rp2040).unwrap();
    assert_eq!(part.address, 0x1000_0000);
    assert_eq!(part.bytes, [1, 2, 255, 255, 255, 255, 3, 4]);
}

#[test]
fn a_program_for_another_chip_is_refused_with_both_memories() {
    let pico = elf_file(ARM, &[(0x1000_0000, &[0; 8])]);
    let message = complaint("other", &pico, Board::Stm32l4r5);
    for words in [
        "0x10000000 to 0x10000008",
        "stm32l4r5",
        "0x08000000 to 0x08060000",
        "cargo xtask firmware stm32l4r5",
    ] {
        assert!(message.contains(words), "{words} in {message}");
    }
    let nucleo = elf_file(ARM, &[(0x0800_0000, &[0; 8])]);
    assert!(complaint("nucleo", &nucleo, Board::Rp2040).contains("rp2040"));
    let emulated = elf_file(ARM, &[(0, &[0; 8])]);
    assert!(complaint("emulated", &emulated, Board::Rp2040).contains("0x00000000"));
}

#[test]
fn a_program_that_would_run_into_the_shard_is_refused() {
    let bytes = vec![0; 0x6_0001];
    let file = elf_file(ARM, &[(0x1000_0000, &bytes)]);
    assert!(complaint("large", &file, Board::Rp2040).contains("0x10060001"));
}

#[test]
fn files_of_another_kind_are_named() {
    let kind = |name: &str, file: &[u8]| complaint(name, file, Board::Rp2040);
    assert!(kind("uf2", b"UF2\n").contains("not a 32-bit little-endian ELF"));
    let x86 = elf_file(3, &[(0x1000_0000, &[1])]);
    assert!(kind("x86", &x86).contains("not a program for ARM"));
    let empty = elf_file(ARM, &[]);
    assert!(kind("empty", &empty).contains("nothing to flash"));
    let mut cut = elf_file(ARM, &[(0x1000_0000, &[1; 100])]);
    cut.truncate(100);
    assert!(kind("cut", &cut).contains("cut off"));
}

#[test]
fn a_missing_file_says_what_builds_it() {
    let error = read("no/such/file".as_ref(), Board::Stm32l4r5).unwrap_err();
    assert!(
        error.to_string().contains("cargo xtask firmware stm32l4r5"),
        "{error}"
    );
}

/// The images of this revision, where they were built; under `CI=true` they must have been.
#[test]
fn each_image_fits_its_own_chip_and_no_other() {
    for own in Board::all() {
        let path = own.image(Program::Client);
        if !path.is_file() {
            assert!(!is_strict(), "{} is missing", path.display());
            eprintln!("\n*** SKIPPED: {} is not built ***\n", path.display());
            continue;
        }
        for board in Board::all() {
            let fits = read(&path, board);
            assert_eq!(fits.is_ok(), board == own, "{own} on {board}: {fits:?}");
        }
    }
    let stm32 = Board::Stm32l4r5.image(Program::Client);
    if stm32.is_file() {
        let error = read(&stm32, Board::Rp2040).unwrap_err().to_string();
        assert!(error.contains("Cortex-M0+"), "{error}");
        let error = read(&stm32, Board::Stm32l496).unwrap_err().to_string();
        for words in [
            "another board",
            "0x081fe000",
            "0x080ff000",
            "firmware stm32l496",
        ] {
            assert!(error.contains(words), "{words} in {error}");
        }
    }
}
