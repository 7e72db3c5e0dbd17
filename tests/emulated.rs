//! The firmware's images in their emulators.
//!
//! Under `CI=true` a missing emulator or image is a failure; elsewhere the test says what to
//! install and passes.

use std::io::{Read, Write};
use std::net::TcpStream;

use gleaner_host::emulator::image::EmulatedBoard;
use gleaner_host::emulator::qemu::Qemu;
use gleaner_host::emulator::rp2040::Lockstep;
use gleaner_tests::emulated::available;

#[test]
fn the_cortex_m4_boots_and_answers_before_and_after_a_reset() {
    let Some(image) = available(EmulatedBoard::M4.ensure_image()) else {
        return;
    };
    let Some(mut board) = available(Qemu::start(&image, None)) else {
        return;
    };
    for _ in 0..2 {
        let mut link = TcpStream::connect(board.link()).unwrap();
        link.write_all(b"echo!").unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"echo!") {
            let mut byte = [0];
            link.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        board.reset().unwrap();
    }
}

#[test]
fn the_rp2040_boots_and_answers_before_and_after_a_reset() {
    let Some(image) = available(EmulatedBoard::Rp2040.ensure_image()) else {
        return;
    };
    let Some(mut board) = available(Lockstep::start(&image, None)) else {
        return;
    };
    for resets in 0..2 {
        board.run(10_000, &[], None).unwrap();
        let ran = board.run(1_000, b"echo!", None).unwrap();
        assert_eq!((&*ran.tx, ran.stat.resets), (&b"echo!"[..], resets));
        board.reset().unwrap();
    }
}
