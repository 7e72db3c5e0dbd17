//! From bytes on the line to frames, whatever the line does to them.
//!
//! The decoder is in step again at the next delimiter, always: a damaged or oversized frame is
//! skipped up to and including its delimiter and counted, and its tail is never looked at.

use super::cobs::{Step, Unstuffer};
use super::frame::{Damage, Frame, MAX_FRAME};

/// How many frames were thrown away, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct DamageCounters {
    /// Longer than any frame.
    pub oversized: u32,
    /// Cut inside a run.
    pub truncated: u32,
    /// Shorter than an empty frame.
    pub short: u32,
    /// Checksum did not fit.
    pub checksum: u32,
    /// Unknown kind.
    pub kind: u32,
}

impl DamageCounters {
    /// Counts one more.
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

    /// Returns all of them together.
    #[must_use]
    pub const fn total(&self) -> u32 {
        self.oversized
            .saturating_add(self.truncated)
            .saturating_add(self.short)
            .saturating_add(self.checksum)
            .saturating_add(self.kind)
    }
}

/// What the line brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival<'a> {
    /// A frame whose checksum fits.
    Frame(Frame<'a>),
    /// A frame was thrown away.
    Damaged(Damage),
}

/// Collects bytes into frames.
#[derive(Clone, Debug)]
pub struct FrameDecoder {
    buffer: [u8; MAX_FRAME],
    len: usize,
    unstuffer: Unstuffer,
    /// Set once the frame no longer fits, until its delimiter.
    overrun: bool,
    /// Whether anything came since the last delimiter.
    started: bool,
    /// Whether the last delimiter came inside a run.
    cut: bool,
    counters: DamageCounters,
}

impl FrameDecoder {
    /// Starts in step: the first byte begins a frame.
    #[must_use]
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

    /// Returns how many frames were thrown away.
    #[must_use]
    pub const fn counters(&self) -> &DamageCounters {
        &self.counters
    }

    /// Takes bytes up to the end of a frame, leaving the rest in `bytes`; `None` when they ran
    /// out first.
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

    /// Takes one byte.
    pub fn push(&mut self, byte: u8) -> Option<Arrival<'_>> {
        self.take(byte).then(|| self.finish())
    }

    /// Takes one byte and tells whether something ended with it; `len` then holds its length.
    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        match self.unstuffer.step(byte) {
            Step::Byte(byte) => self.append(&[byte]),
            Step::Nothing => {}
            Step::End { whole } => {
                // Delimiters in a row are idle line, not damage.
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

impl Default for FrameDecoder {
    fn default() -> Self {
        Self::new()
    }
}
