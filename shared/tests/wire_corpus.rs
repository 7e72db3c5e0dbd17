//! Replays the fuzzing corpus, and keeps a seed for every message in it.
//!
//! `GLEANER_BLESS=1 cargo test -p gleaner-shared --test wire_corpus` writes missing seeds.

#[path = "../fuzz/targets.rs"]
mod targets;

#[path = "samples/mod.rs"]
mod samples;

use std::fs;
use std::path::PathBuf;

use gleaner_shared::wire::message;
use gleaner_shared::wire::{Direction, FrameBuffer, Header, Key, Kind};

fn corpus(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target)
}

fn replay(target: &str, run: fn(&[u8])) {
    let mut inputs = 0;
    for entry in fs::read_dir(corpus(target)).expect("the corpus is committed") {
        let path = entry.expect("a readable folder").path();
        let data = fs::read(&path).expect("a readable file");
        run(&data);
        // Every prefix as well: cut scripts and cut messages are likely to fail.
        (0..data.len()).for_each(|end| run(&data[..end]));
        inputs += 1;
    }
    assert!(inputs >= 5, "{target} has only {inputs} seeds");
}

#[test]
fn frame_decoder_survives_the_corpus() {
    replay("frames", targets::frames);
}

#[test]
fn message_parsers_survive_the_corpus() {
    replay("messages", targets::messages);
}

#[test]
fn transfer_machines_survive_the_corpus() {
    replay("transfers", targets::transfers);
}

#[test]
fn session_machines_survive_the_corpus() {
    replay("sessions", targets::sessions);
}

fn seed(target: &str, name: &str, bytes: &[u8]) {
    let path = corpus(target).join(name);
    if std::env::var_os("GLEANER_BLESS").is_some() {
        fs::write(&path, bytes).expect("a writable corpus");
    }
    let kept = fs::read(&path).unwrap_or_else(|_| panic!("{target}/{name} is missing"));
    assert_eq!(kept, bytes, "{target}/{name} is out of date");
}

/// Scripts for the session target: a length byte before every payload.
fn step(script: &mut Vec<u8>, op: u8, piece: &[u8]) {
    script.push(op);
    script.push(u8::try_from(piece.len()).expect("a short piece"));
    script.extend_from_slice(piece);
}

#[test]
fn every_message_has_a_seed() {
    let mut buffer = [0; 1024];
    let each = |name: &str, host: bool, encoded: &[u8]| {
        seed("messages", name, encoded);
        let mut frame = FrameBuffer::new();
        frame.payload()[..encoded.len()].copy_from_slice(encoded);
        let direction = if host {
            Direction::HostToDevice
        } else {
            Direction::DeviceToHost
        };
        let header = Header {
            direction,
            kind: Kind::Message,
            session: 1,
            sequence: 1,
        };
        seed(
            "frames",
            name,
            frame.sign(&header, encoded.len(), &Key::PUBLIC),
        );
        // Sent once unreliably and once reliably, then time and the application act.
        let mut script = vec![u8::from(!host)];
        step(&mut script, 0, encoded);
        let number: u8 = if host { 1 } else { 0 };
        step(&mut script, 1, &[&[number, 0], encoded].concat());
        script.extend_from_slice(&[5, 6, 12, 252]);
        seed("sessions", name, &script);
    };
    for (name, sample) in samples::host_to_device() {
        let len = message::encode(&sample, &mut buffer).expect("it fits");
        each(name, true, &buffer[..len]);
    }
    for (name, sample) in samples::device_to_host() {
        let len = message::encode(&sample, &mut buffer).expect("it fits");
        each(name, false, &buffer[..len]);
    }
}

#[test]
fn transfers_have_seeds() {
    let accept = |len: u32| [&[0x10 - 4][..], &len.to_be_bytes(), &[0]].concat();
    let offer = |len: u32| [&[0x07 + 6 * 2][..], &len.to_be_bytes(), &[0]].concat();
    let (send, lose, status) = ([3, 0], [3, 200], [4]);
    let clean = [
        accept(2000),
        offer(2000),
        status.into(),
        send.repeat(3),
        status.into(),
    ]
    .concat();
    let lossy = [
        accept(2500),
        offer(2500),
        status.into(),
        send.into(),
        lose.into(),
        send.into(),
        status.into(),
        send.into(),
        status.into(),
    ]
    .concat();
    let wrong_hash = [
        &[12][..],
        &700u32.to_be_bytes(),
        &[200],
        &offer(700),
        &[4, 3, 0, 4],
    ]
    .concat();
    let too_long = [accept(3000), offer(u32::MAX)].concat();
    let chunk = [
        &[2, 6, 0, 0, 0, 0, 1, 2][..],
        &[0, 0, 0, 0, 2, 0],
        &[2, 6, 0, 0, 0, 0x80, 1, 2],
    ]
    .concat();
    for (name, script) in [
        ("clean", clean),
        ("lossy", lossy),
        ("wrong_hash", wrong_hash),
        ("too_long", too_long),
        ("foreign_chunk", chunk),
    ] {
        seed("transfers", name, &script);
    }
}
