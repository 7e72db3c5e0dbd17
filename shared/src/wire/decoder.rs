//! Decodes bytes of the line into frames, whatever errors the line has.
//!
//! The decoder is always synchronised at the next delimiter: a damaged or oversized frame is
//! skipped up to and including its delimiter and counted, and its tail is never parsed.

use super::cobs::{Step, Unstuffer};
use super::frame::{Damage, Frame, MAX_FRAME};

/// Number of discarded frames, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs)]
pub struct DamageCounters {
    pub oversized: u32,
    pub truncated: u32,
    pub short: u32,
    pub checksum: u32,
    pub kind: u32,
}

impl DamageCounters {
    /// Counts one more frame.
    pub fn count(&mut self, damage: Damage) {
        let counter = match damage {
            Damage::Oversized => &mut self.oversized,
            Damage::Truncated => &mut self.truncated,
            Damage::Short => &mut self.short,
            Damage::Checksum => &mut self.checksum,
            Damage::Kind => &mut self.kind,
        };
        *counter = counter.saturating_add(1);
    }

    /// Returns the sum of all counters.
    pub const fn total(&self) -> u32 {
        self.oversized
            .saturating_add(self.truncated)
            .saturating_add(self.short)
            .saturating_add(self.checksum)
            .saturating_add(self.kind)
    }
}

/// A complete frame or a damaged one.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival<'a> {
    /// A frame with a valid checksum.
    Frame(Frame<'a>),
    /// A discarded frame and the reason.
    Damaged(Damage),
}

/// Collects bytes into frames.
///
/// # Examples
/// ```
/// use gleaner_shared::wire::{Arrival, Direction, FrameBuffer, FrameDecoder, Header, Key, Kind};
///
/// let session = Key::new([7; 32]).session(&[1; 16], &[2; 16]);
/// let header = Header {
///     direction: Direction::DeviceToHost,
///     kind: Kind::Message,
///     session: session.id(),
///     sequence: 1,
/// };
/// let mut buffer = FrameBuffer::new();
/// buffer.payload()[..5].copy_from_slice(b"hello");
/// let line = buffer.seal(&header, 5, &session).to_vec();
///
/// let mut decoder = FrameDecoder::new();
/// let mut bytes = &line[..];
/// let Some(Arrival::Frame(frame)) = decoder.next_in(&mut bytes) else {
///     panic!("one frame is complete");
/// };
/// assert_eq!(frame.header, header);
/// assert_eq!(frame.open(&session), Some(&b"hello"[..]));
/// ```
#[derive(Clone, Debug)]
pub struct FrameDecoder {
    buffer: [u8; MAX_FRAME],
    len: usize,
    unstuffer: Unstuffer,
    /// Set once the frame no longer fits, until its delimiter.
    overrun: bool,
    /// Whether any byte came since the last delimiter.
    started: bool,
    /// Whether the last delimiter came inside a run.
    cut: bool,
    counters: DamageCounters,
}

impl FrameDecoder {
    /// Starts synchronised: the first byte begins a frame.
    pub const fn new() -> Self {
        Self {
            buffer: [0; MAX_FRAME],
            len: 0,
            unstuffer: Unstuffer::new(),
            overrun: false,
            started: false,
            cut: false,
            counters: DamageCounters {
                oversized: 0,
                truncated: 0,
                short: 0,
                checksum: 0,
                kind: 0,
            },
        }
    }

    /// Returns the number of discarded frames.
    pub const fn counters(&self) -> &DamageCounters {
        &self.counters
    }

    /// Takes bytes up to the end of a frame, leaving the rest in `bytes`; returns `None` if no
    /// frame ended.
    pub fn next_in(&mut self, bytes: &mut &[u8]) -> Option<Arrival<'_>> {
        loop {
            let (run, rest) = self.unstuffer.split_run(bytes);
            self.append(run);
            *bytes = rest;
            let (&byte, rest) = bytes.split_first()?;
            *bytes = rest;
            if self.take(byte) {
                return Some(self.finish());
            }
        }
    }

    /// Takes one byte of the line.
    pub fn push(&mut self, byte: u8) -> Option<Arrival<'_>> {
        self.take(byte).then(|| self.finish())
    }

    /// Takes one byte and returns whether a frame ended with it; `len` then holds its length.
    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        match self.unstuffer.step(byte) {
            Step::Byte(byte) => self.append(&[byte]),
            Step::Nothing => {}
            Step::End { whole } => {
                // Repeated delimiters are an idle line, not damage.
                let ended = self.started;
                self.started = false;
                self.cut = !whole;
                return ended;
            }
        }
        self.started = true;
        false
    }

    #[inline]
    fn append(&mut self, run: &[u8]) {
        let end = self.len + run.len();
        match self.buffer.get_mut(self.len..end) {
            Some(room) => {
                room.copy_from_slice(run);
                self.len = end;
            }
            None => self.overrun = true,
        }
    }

    fn finish(&mut self) -> Arrival<'_> {
        let len = core::mem::take(&mut self.len);
        let overrun = core::mem::take(&mut self.overrun);
        let parsed = if overrun {
            Err(Damage::Oversized)
        } else if self.cut {
            Err(Damage::Truncated)
        } else {
            Frame::parse(&mut self.buffer[..len])
        };
        match parsed {
            Ok(frame) => Arrival::Frame(frame),
            Err(damage) => {
                self.counters.count(damage);
                Arrival::Damaged(damage)
            }
        }
    }
}
