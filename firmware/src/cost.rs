//! Counts the cycles of sealing and opening frames on the board, for the self-test.

use core::hint::black_box;

use gleaner_shared::wire::transfer::CHUNK_BYTES;
use gleaner_shared::wire::{
    Arrival, Direction, FrameBuffer, FrameDecoder, Header, Key, Kind, SessionKey,
};

use crate::platform::CycleCounter;
use crate::report::Report;

/// Payloads that are measured: a piece of a model behind its two numbers, and a message.
const PAYLOADS: [usize; 2] = [4 + CHUNK_BYTES, 64];
/// The longest of them.
const LONGEST: usize = PAYLOADS[0];

/// How often everything is done: the clock of an emulated board ticks every forty instructions.
const RUNS: u64 = 8;

/// Says what a frame costs, and its cipher alone; `between` is called after each figure, some ten
/// milliseconds apart on a board.
pub fn frames(counter: &impl CycleCounter, report: &mut Report, mut between: impl FnMut()) {
    let key = session();
    let header = header(&key);
    for len in PAYLOADS {
        let plain = payload();
        let mut text = plain;
        let bytes = &header.to_bytes();
        let seal = mean(
            counter,
            &mut text,
            |text| *text = plain,
            |text| key.seal(bytes, &mut text[..len]),
        );
        report.say("cipher seal", len, seal);
        between();
        let mut sealed = plain;
        let tag = key.seal(bytes, &mut sealed[..len]);
        let open = mean(
            counter,
            &mut text,
            |text| *text = sealed,
            |text| key.open(bytes, &mut text[..len], &tag),
        );
        report.say("cipher open", len, open);
        between();

        let mut frame = FrameBuffer::new();
        let fill = |frame: &mut FrameBuffer| frame.payload()[..len].copy_from_slice(&plain[..len]);
        let seal = mean(counter, &mut frame, fill, |frame| {
            frame.seal(&header, len, &key).len()
        });
        report.say("frame seal", len, seal);
        between();
        fill(&mut frame);
        let line = frame.seal(&header, len, &key);
        let mut decoder = FrameDecoder::new();
        let open = mean(
            counter,
            &mut decoder,
            |_| {},
            |decoder| arrives_whole(decoder, black_box(line), &key),
        );
        report.say("frame open", len, open);
        between();
    }
}

/// The keys of some session.
fn session() -> SessionKey {
    Key::new([7; 32]).session(&[1; 16], &[2; 16])
}

fn header(key: &SessionKey) -> Header {
    Header {
        direction: Direction::DeviceToHost,
        kind: Kind::Chunk,
        session: key.id(),
        sequence: 77,
    }
}

/// Bytes of all values.
fn payload() -> [u8; LONGEST] {
    core::array::from_fn(|at| (at * 7 + at / 13) as u8)
}

fn arrives_whole(decoder: &mut FrameDecoder, mut line: &[u8], key: &SessionKey) -> bool {
    match decoder.next_in(&mut line) {
        Some(Arrival::Frame(frame)) => frame.open(key).is_some(),
        _ => false,
    }
}

/// Counts a piece of work on a prepared subject, on the mean of several runs.
fn mean<S, R>(
    counter: &impl CycleCounter,
    subject: &mut S,
    mut prepare: impl FnMut(&mut S),
    mut work: impl FnMut(&mut S) -> R,
) -> u64 {
    let mut sum = 0;
    for _ in 0..RUNS {
        prepare(subject);
        let start = counter.read();
        black_box(work(black_box(subject)));
        sum += counter.between(start, counter.read()).0;
    }
    sum / RUNS
}
