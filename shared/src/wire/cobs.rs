//! Consistent overhead byte stuffing (Cheshire and Baker, 1999): no zero byte inside a frame.
//!
//! The encoder works in place, so a device needs one buffer per direction; the decoder takes bytes
//! as they arrive. Both move whole runs: on a Cortex-M0+ a single byte takes longer than its share
//! of the cipher.

/// Longest run of non-zero bytes one code byte can announce.
const LONGEST_RUN: usize = 254;

/// Returns how many code bytes stuffing adds to `len` bytes at most.
#[must_use]
pub const fn overhead(len: usize) -> usize {
    len / LONGEST_RUN + 1
}

/// Stuffs `buffer[start..end]` towards the front of `buffer` and returns the stuffed length.
///
/// `start` must be at least [`overhead`] of the length, which keeps writing behind reading.
pub(super) fn stuff_in_place(buffer: &mut [u8], start: usize, end: usize) -> usize {
    debug_assert!(start >= overhead(end - start));
    let mut read = start;
    let mut write = 0;
    loop {
        let longest = LONGEST_RUN.min(end - read);
        let run = before_zero(&buffer[read..read + longest]);
        buffer[write] = run as u8 + 1;
        buffer.copy_within(read..read + run, write + 1);
        write += run + 1;
        read += run;
        if read == end {
            return write;
        }
        if run < longest {
            read += 1;
            if read == end {
                // A zero at the very end: an empty run follows it.
                buffer[write] = 1;
                return write + 1;
            }
        }
    }
}

/// Returns the number of bytes before the first zero.
fn before_zero(bytes: &[u8]) -> usize {
    let zero = bytes.iter().position(|&byte| byte == 0);
    zero.unwrap_or(bytes.len())
}

/// The meaning of one stuffed byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A code byte: no output.
    Nothing,
    /// A byte of the frame.
    Byte(u8),
    /// The delimiter: the frame ends here, whole or inside a run.
    End {
        /// Whether the last run was complete.
        whole: bool,
    },
}

/// Unstuffs one byte at a time, or a run of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unstuffer {
    /// Bytes still to come in this run.
    remaining: u8,
    /// Whether a zero follows this run, unless the frame ends.
    zero_after: bool,
}

impl Unstuffer {
    pub(super) const fn new() -> Self {
        Self {
            remaining: 0,
            zero_after: false,
        }
    }

    /// Splits off the next bytes of the current run and returns them and the rest, which begins
    /// with a code byte or a delimiter.
    #[inline]
    pub(super) fn split_run<'a>(&mut self, bytes: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let longest = bytes.len().min(self.remaining.into());
        let run = before_zero(&bytes[..longest]);
        self.remaining -= run as u8;
        bytes.split_at(run)
    }

    /// Takes the next byte of the line.
    #[inline]
    pub(super) fn step(&mut self, byte: u8) -> Step {
        if byte == 0 {
            let whole = self.remaining == 0;
            *self = Self::new();
            return Step::End { whole };
        }
        if self.remaining > 0 {
            self.remaining -= 1;
            return Step::Byte(byte);
        }
        let zero_due = self.zero_after;
        self.remaining = byte - 1;
        self.zero_after = byte != 0xFF;
        if zero_due {
            Step::Byte(0)
        } else {
            Step::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stuff(plain: &[u8]) -> Vec<u8> {
        let start = overhead(plain.len());
        let mut buffer = vec![0; start];
        buffer.extend_from_slice(plain);
        let len = stuff_in_place(&mut buffer, start, start + plain.len());
        buffer.truncate(len);
        buffer
    }

    fn unstuff(stuffed: &[u8]) -> Vec<u8> {
        let mut unstuffer = Unstuffer::new();
        stuffed
            .iter()
            .filter_map(|&byte| match unstuffer.step(byte) {
                Step::Byte(byte) => Some(byte),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn matches_the_published_examples() {
        assert_eq!(stuff(&[]), [1]);
        assert_eq!(stuff(&[0]), [1, 1]);
        assert_eq!(stuff(&[0, 0]), [1, 1, 1]);
        assert_eq!(stuff(&[0x11, 0x22, 0, 0x33]), [3, 0x11, 0x22, 2, 0x33]);
        assert_eq!(stuff(&[0x11, 0, 0, 0]), [2, 0x11, 1, 1, 1]);
    }

    #[test]
    fn returns_every_length_with_and_without_zeros() {
        for len in 0..1100 {
            for period in [2, 7, 253, 254, 255, 256, 5000] {
                let plain: Vec<u8> = (1..=len).map(|i| (i % period % 256) as u8).collect();
                let stuffed = stuff(&plain);
                assert!(stuffed.iter().all(|&byte| byte != 0));
                assert!(stuffed.len() <= len + overhead(len));
                assert_eq!(unstuff(&stuffed), plain, "length {len}, period {period}");
            }
        }
    }

    #[test]
    fn distinguishes_a_cut_frame_from_a_complete_one() {
        let mut unstuffer = Unstuffer::new();
        unstuffer.step(3);
        unstuffer.step(9);
        assert_eq!(unstuffer.step(0), Step::End { whole: false });
        unstuffer.step(2);
        unstuffer.step(9);
        assert_eq!(unstuffer.step(0), Step::End { whole: true });
    }
}
