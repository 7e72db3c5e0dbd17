//! The self-test: reports the fingerprints of small trainings and of updates in every code, the cycles of
//! codes and of frames, or a crash
//! that fault injection caused.
//!
//! The report is text, sent once a second. A line is a name, a size in bytes and a number:
//! ```text
//! begin
//! fingerprint 8 1234567890
//! frame seal 964 181770
//! encode q4 20732 2000000
//! end
//! ```

use core::fmt::Write as _;
use core::hint::black_box;
use core::task::Poll;

use embassy_futures::poll_once;
use embedded_io_async::{Read as _, Write as _};
use gleaner_shared::mlp::code::{self, Between};
use gleaner_shared::mlp::selftest::{
    CODED_DRAW, CodedNet, fingerprint, move_on, networks, small_nets,
};
use gleaner_shared::mlp::{Clip, Scratch, UploadCode, Width};
use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::Crash;
use gleaner_shared::wire::transfer::CHUNK_BYTES;
use gleaner_shared::wire::{
    Arrival, Direction, FrameBuffer, FrameDecoder, Header, Key, Kind, SessionKey,
};
use heapless::String;

use crate::crash::CrashLog;
use crate::platform::{Board, Clock, CycleCounter, Platform, Watchdog};

/// Words of memory for an update in 8 bits, or a shorter one and what coding it takes.
const CODE_WORDS: usize = Width::Byte
    .coded_bytes(CodedNet::COUNT)
    .div_ceil(size_of::<u32>());

/// Two models and memory to code the change between them.
pub struct CodeMemory {
    local: CodedNet,
    global: CodedNet,
    rows: Scratch<CODE_WORDS>,
}

impl CodeMemory {
    /// Returns cleared memory, ready for a static.
    pub const fn new() -> Self {
        Self {
            local: CodedNet::new(),
            global: CodedNet::new(),
            rows: Scratch::new(),
        }
    }
}

/// Runs the self-test and reports its results.
pub async fn run<P: Platform>(mut board: Board<P>, memory: &mut CodeMemory) -> ! {
    let mut report = Report::new();
    let crashes = CrashLog::open(&mut board.crashes, board.reset);
    if let Some(crash) = crashes.unreported() {
        describe(crash, &mut report);
        report.repeat(board, |_| {}).await
    }
    count_frames(&board.cycles, &mut report, || board.watchdog.feed());
    count_codes(&board.cycles, memory, &mut report, || board.watchdog.feed());
    let fingerprint = small_nets(|| {
        board.watchdog.feed();
        obey(&mut board);
    });
    report.add("fingerprint", 8, fingerprint);
    report.add("networks", 8, networks(|| board.watchdog.feed()));
    report.repeat(board, obey).await
}

/// Injects a fault if the link asks for one.
fn obey<P: Platform>(board: &mut Board<P>) {
    let mut bytes = [0; 8];
    if let Poll::Ready(Ok(count @ 1..)) = poll_once(board.rx.read(&mut bytes)) {
        inject(bytes[count - 1]);
    }
}

/// Payload sizes that are measured: a chunk of a model with its header, and a message.
const PAYLOADS: [usize; 2] = [4 + CHUNK_BYTES, 64];
const LONGEST: usize = PAYLOADS[0];

/// Number of repetitions: the clock of m4 ticks once per 40 instructions.
const RUNS: u64 = 8;

/// Reports the cycles of a frame and of its cipher alone; `between` is called after each figure,
/// about every ten milliseconds on a board.
fn count_frames(counter: &impl CycleCounter, report: &mut Report, mut between: impl FnMut()) {
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
        report.add("cipher seal", len, seal);
        between();
        let mut sealed = plain;
        let tag = key.seal(bytes, &mut sealed[..len]);
        let open = mean(
            counter,
            &mut text,
            |text| *text = sealed,
            |text| key.open(bytes, &mut text[..len], &tag),
        );
        report.add("cipher open", len, open);
        between();

        let mut frame = FrameBuffer::new();
        let fill = |frame: &mut FrameBuffer| frame.payload()[..len].copy_from_slice(&plain[..len]);
        let seal = mean(counter, &mut frame, fill, |frame| {
            frame.seal(&header, len, &key).len()
        });
        report.add("frame seal", len, seal);
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
        report.add("frame open", len, open);
        between();
    }
}

/// Reports the cycles of coding an update and of applying it, in every code that has room, and the
/// fingerprint of the bytes; `between` is called after each.
fn count_codes(
    counter: &impl CycleCounter,
    memory: &mut CodeMemory,
    report: &mut Report,
    mut between: impl FnMut(),
) {
    for code in UploadCode::ALL {
        let CodeMemory {
            local,
            global,
            rows,
        } = memory;
        global.initialise(1);
        local.copy_from(global);
        move_on(local);
        between();
        let change = Between {
            model: &*local,
            base: &*global,
        };
        let Some((bytes, work)) = rows.coding(code.encoded_len(&change)) else {
            continue;
        };
        let start = counter.read();
        let coded = code.encode(&change, Clip::NONE, CODED_DRAW, work, bytes);
        let encode = counter.between(start, counter.read()).0;
        between();
        let start = counter.read();
        let decoded = code.decode(global.shape(), bytes);
        if let (Ok(length), Ok(decoded)) = (coded, decoded) {
            code::apply(&decoded, global);
            let apply = counter.between(start, counter.read()).0;
            for (what, number) in [
                ("encode", encode),
                ("apply", apply),
                ("update", fingerprint(bytes)),
                ("model", global.fingerprint()),
            ] {
                let mut words = String::<16>::new();
                // The longest name fits.
                let _ = write!(words, "{what} {code}");
                report.add(&words, length, number);
            }
        }
        between();
    }
}

/// Returns the keys of an arbitrary session.
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

/// Returns a payload with bytes of all values.
fn payload() -> [u8; LONGEST] {
    core::array::from_fn(|at| (at * 7 + at / 13) as u8)
}

fn arrives_whole(decoder: &mut FrameDecoder, mut line: &[u8], key: &SessionKey) -> bool {
    match decoder.next_in(&mut line) {
        Some(Arrival::Frame(frame)) => frame.open(key).is_some(),
        _ => false,
    }
}

/// Returns the mean cycles of `work` on a prepared subject.
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

/// Causes the fault that a byte on the link names; other bytes are ignored.
fn inject(byte: u8) {
    match byte {
        b'p' => panic!("on purpose"),
        b'o' => drop(black_box(deeper(0))),
        #[cfg(feature = "_device")]
        b'f' => cortex_m::asm::udf(),
        // Sleeping costs an emulator nothing.
        #[cfg(feature = "_device")]
        b'w' => loop {
            cortex_m::asm::wfi();
        },
        _ => {}
    }
}

/// Recurses until the stack overflows.
fn deeper(depth: u32) -> u32 {
    let frame = black_box([depth; 64]);
    if black_box(depth) == u32::MAX {
        return 0;
    }
    deeper(depth.wrapping_add(1)).wrapping_add(black_box(frame)[0])
}

/// Reports the crash: cause, place, message, number of starts and faulting address.
fn describe(crash: &Crash, report: &mut Report) {
    let mut words = String::<192>::new();
    let Crash { place, message, .. } = crash;
    // The longest place and message fit.
    let _ = write!(words, "died {} at {place}: {message}", crash.cause);
    report.add(&words, crash.boots as usize, crash.pc.into());
}

/// Size of the longest report.
const BYTES: usize = 2048;

/// Lines of a report between `begin` and `end`.
struct Report(String<BYTES>);

impl Report {
    /// Starts a report with its first line.
    fn new() -> Self {
        let mut report = Self(String::new());
        report.line(format_args!("begin"));
        report
    }

    /// Adds a line to the report.
    fn add(&mut self, what: &str, bytes: usize, number: u64) {
        self.line(format_args!("{what} {bytes} {number}"));
    }

    fn line(&mut self, line: core::fmt::Arguments<'_>) {
        // A truncated report lacks its last line, which its reader detects.
        let _ = self
            .0
            .write_fmt(line)
            .and_then(|()| self.0.write_char('\n'));
    }

    /// Sends the report once a second, forever; `between` is called each time.
    async fn repeat<P: Platform>(
        mut self,
        mut board: Board<P>,
        mut between: impl FnMut(&mut Board<P>),
    ) -> ! {
        self.line(format_args!("end"));
        loop {
            board.watchdog.feed();
            between(&mut board);
            // Repeated because nobody may be listening yet.
            let _ = board.tx.write_all(self.0.as_bytes()).await;
            let later = board.clock.now().saturating_add(Micros(1_000_000));
            board.clock.wait_until(later).await;
        }
    }
}
