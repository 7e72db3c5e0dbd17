//! Program files and the chips they fit.

use std::fs;

use gleaner_station::device::Board;
use gleaner_station::device::flash::program::read;
use gleaner_station::device::image::Program;

use crate::image::{ARM, elf_file};
use crate::support::{Folder, skip};

/// Reads a program file that must be refused with an error that contains a token.
fn refused(file: &[u8], board: Board, token: &str) {
    let folder = Folder::new();
    folder.write("client", file);
    let error = read(&folder.path("client"), board).unwrap_err().to_string();
    assert!(error.contains(token), "`{token}` is not in: {error}");
}

#[test]
fn segments_are_merged_at_their_load_addresses() {
    let folder = Folder::new();
    let file = elf_file(ARM, &[(0x1000_0006, &[3, 4]), (0x1000_0000, &[1, 2])]);
    folder.write("client", file);
    let part = read(&folder.path("client"), Board::Rp2040).unwrap();
    assert_eq!(part.address, 0x1000_0000);
    assert_eq!(part.bytes, [1, 2, 255, 255, 255, 255, 3, 4]);
}

#[test]
fn a_program_for_another_chip_or_into_the_shard_is_refused() {
    let at = |address: u32, bytes: &[u8]| elf_file(ARM, &[(address, bytes)]);
    let pico = at(0x1000_0000, &[0; 8]);
    for memory in ["0x10000000 to 0x10000008", "0x08000000 to 0x08060000"] {
        refused(&pico, Board::Stm32l4r5, memory);
    }
    refused(&at(0x0800_0000, &[0; 8]), Board::Rp2040, "rp2040");
    refused(&at(0, &[0; 8]), Board::Rp2040, "0x00000000");
    let large = at(0x1000_0000, &vec![0; 0x6_0001]);
    refused(&large, Board::Rp2040, "0x10060001");
}

#[test]
fn files_that_are_no_program_for_arm_are_refused() {
    let mut cut = elf_file(ARM, &[(0x1000_0000, &[1; 100])]);
    cut.truncate(100);
    for (file, token) in [
        (b"UF2\n".to_vec(), "ELF"),
        (elf_file(3, &[(0x1000_0000, &[1])]), "ARM"),
        (elf_file(ARM, &[]), "nothing"),
        (cut, "cut off"),
    ] {
        refused(&file, Board::Rp2040, token);
    }
    let error = read("no/such/file".as_ref(), Board::Stm32l4r5).unwrap_err();
    assert!(error.to_string().contains("firmware stm32l4r5"), "{error}");
}

/// Reads the images that were built; under `CI=true` all of them must have been.
#[test]
fn each_image_fits_its_own_chip_and_no_other() {
    for own in Board::all() {
        let path = own.image(Program::Client);
        if !path.is_file() {
            skip(format!("{} is not built", path.display()));
            continue;
        }
        for board in Board::all() {
            let fits = read(&path, board);
            assert_eq!(fits.is_ok(), board == own, "{own} on {board}: {fits:?}");
        }
    }
    let nucleo = Board::Stm32l4r5.image(Program::Client);
    if nucleo.is_file() {
        let nucleo = fs::read(nucleo).unwrap();
        refused(&nucleo, Board::Rp2040, "Cortex-M0+");
        for end in ["0x081fe000", "0x080ff000"] {
            refused(&nucleo, Board::Stm32l496, end);
        }
    }
}
