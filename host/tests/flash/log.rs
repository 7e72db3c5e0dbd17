//! The log of a real image: booted in rp2040js, read out of its RAM, decoded with its ELF file.
//!
//! Under `CI=true` a missing emulator or image is a failure; elsewhere the test says what is
//! missing and passes.

use std::io::Write;

use gleaner_station::device::Board;
use gleaner_station::device::emulator::EmulatorError;
use gleaner_station::device::emulator::runner::Lockstep;
use gleaner_station::device::image::{Program, is_strict};
use gleaner_station::device::logs::{Dictionary, LogError, UpChannel};

use crate::folder::{ARM, Folder, elf_file};

fn available<T>(result: Result<T, EmulatorError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(missing @ EmulatorError::Missing { .. }) if !is_strict() => {
            let test = std::thread::current();
            let test = test.name().unwrap_or("?");
            let _ = writeln!(std::io::stderr(), "skipped: {test}: {missing}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn an_rp2040_says_which_build_it_runs() {
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
        let lines = stream.push(&channel.take(&mut chip).unwrap());
        let said = lines
            .iter()
            .find(|line| line.message.ends_with("+rp2040,defmt on rp2040"))
            .unwrap_or_else(|| panic!("boot {boot}: {lines:?}"));
        assert_eq!(said.level.as_deref(), Some("INFO"));
        assert!(said.time.is_some());
        let place = said.location.as_deref().unwrap();
        assert!(place.contains("firmware/src/runner.rs:"), "{place}");
        assert_eq!(
            channel.take(&mut chip).unwrap(),
            b"",
            "what was read is gone"
        );
        chip.reset().unwrap();
    }
}

#[test]
fn bytes_that_were_overwritten_cost_their_lines_and_no_more() {
    let Some(image) = available(Board::Rp2040.ensure(Program::LoggingClient)) else {
        return;
    };
    let Some(mut chip) = available(Lockstep::start(Board::Rp2040, &image, None)) else {
        return;
    };
    let dictionary = Dictionary::read(&image).unwrap();
    chip.run(150_000, &[], None).unwrap();
    let bytes = UpChannel::at(dictionary.block()).take(&mut chip).unwrap();
    let mut stream = dictionary.lines();
    let garbage = [0x5A, 0xA5, 0x31, 0x77, 0];
    let after: Vec<_> = [&garbage[..], &bytes].concat();
    let lines = stream.push(&after);
    assert!(
        lines.iter().any(|line| line.message.ends_with("on rp2040")),
        "{lines:?}"
    );
}

#[test]
fn a_file_without_a_log_says_how_to_build_one() {
    let folder = Folder::new("silent");
    let path = folder.file("client", elf_file(ARM, &[(0x1000_0000, &[0; 8])]));
    let error = Dictionary::read(&path).unwrap_err();
    assert!(matches!(error, LogError::Silent { .. }), "{error}");
    assert!(error.to_string().contains("flash --logs"), "{error}");
    let missing = Dictionary::read("no/such/file".as_ref()).unwrap_err();
    assert!(missing.to_string().contains("no/such/file"), "{missing}");
}
