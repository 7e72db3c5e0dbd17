//! The firmware's images in their emulators.
//!
//! Under `CI=true` a missing emulator or image is a failure; elsewhere the test says what to
//! install and passes.

use std::io::{Read, Write};
use std::net::TcpStream;

use gleaner_host::emulator::image::EmulatedBoard;
use gleaner_host::emulator::qemu::Qemu;
use gleaner_host::emulator::rp2040::{Lockstep, Rp2040};
use gleaner_tests::emulated::available;

fn echo(link: std::net::SocketAddr) {
    let mut stream = TcpStream::connect(link).unwrap();
    stream.write_all(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes).unwrap();
    if &bytes[..5] == b"hello" {
        stream.read_exact(&mut bytes[..5]).unwrap();
    }
    println!("{bytes:?}");
}

#[test]
fn both_images_boot_and_answer() {
    if let Some(image) = available(EmulatedBoard::M4.ensure_image()) {
        let Some(mut qemu) = available(Qemu::start(&image, None)) else { return };
        echo(qemu.link());
        qemu.reset().unwrap();
        echo(qemu.link());
    }
    if let Some(image) = available(EmulatedBoard::Rp2040.ensure_image()) {
        let Some(mut rp2040) = available(Rp2040::start(&image, None)) else { return };
        std::thread::sleep(std::time::Duration::from_millis(500));
        echo(rp2040.link());
        println!("{:?}", rp2040.reset().unwrap());
        std::thread::sleep(std::time::Duration::from_millis(500));
        echo(rp2040.link());
        println!("{:?}", rp2040.stat().unwrap());
        let mut l = Lockstep::start(&image, None).unwrap();
        println!("{:?}", l.run(10_000, &[], Some(b'o')).unwrap());
    }
}
