//! The log of an image that runs in rp2040js: read from its RAM, decoded with its ELF file.
//!
//! Under `CI=true` a missing emulator or image is a failure; elsewhere the test is skipped.

use gleaner_station::device::Board;
use gleaner_station::device::emulator::EmulatorError;
use gleaner_station::device::emulator::runner::Lockstep;
use gleaner_station::device::image::Program;
use gleaner_station::device::logs::{Dictionary, LogError, UpChannel};

use crate::image::{ARM, elf_file};
use crate::support::{Folder, skip};

fn available<T>(result: Result<T, EmulatorError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(missing @ EmulatorError::Missing { .. }) => {
            skip(missing);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn an_rp2040_logs_its_build_and_damaged_bytes_cost_single_lines() {
    let Some(image) = available(Board::Rp2040.ensure(Program::LoggingClient)) else {
        return;
    };
    let Some(mut chip) = available(Lockstep::start(Board::Rp2040, &image, None)) else {
        return;
    };
    let dictionary = Dictionary::read(&image).unwrap();
    let channel = UpChannel::at(dictionary.block());
    assert_eq!(channel.take(&mut chip).unwrap(), b"", "before start-up");
    let mut stream = dictionary.lines();
    for boot in 0..2 {
        chip.run(150_000, &[], None).unwrap();
        let bytes = channel.take(&mut chip).unwrap();
        let damaged = [0x5A, 0xA5, 0x31, 0x77, 0];
        let before = if boot == 0 { &[][..] } else { &damaged };
        let lines = stream.push(&[before, &bytes].concat());
        let found = lines
            .iter()
            .find(|line| line.message.ends_with("+rp2040,defmt on rp2040"))
            .unwrap_or_else(|| panic!("boot {boot}: {lines:?}"));
        assert_eq!(found.level.as_deref(), Some("INFO"));
        assert!(found.time.is_some());
        let place = found.location.as_deref().unwrap();
        assert!(place.contains("firmware/src/runner.rs:"), "{place}");
        assert_eq!(channel.take(&mut chip).unwrap(), b"", "bytes are read once");
        chip.reset().unwrap();
    }
}

#[test]
fn a_file_without_a_log_is_refused() {
    let folder = Folder::new();
    folder.write("client", elf_file(ARM, &[(0x1000_0000, &[0; 8])]));
    let error = Dictionary::read(&folder.path("client")).unwrap_err();
    assert!(matches!(error, LogError::Silent { .. }), "{error}");
    let missing = Dictionary::read("no/such/file".as_ref()).unwrap_err();
    assert!(missing.to_string().contains("no/such/file"), "{missing}");
}
