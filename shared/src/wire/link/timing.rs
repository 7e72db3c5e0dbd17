//! The timeouts of a link.

use crate::units::Micros;
use crate::wire::frame::MAX_WIRE;

/// Bits a byte takes on a serial line: start, eight data, stop.
const BITS_PER_BYTE: u64 = 10;

/// How long a busy end may take to read the line.
const SCHEDULING: Micros = Micros(20_000);

/// The timeouts of a link; each expiry is an outcome, none is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Timing {
    /// Time of one full frame on the line.
    pub frame: Micros,
    /// First wait before a request or message is repeated.
    pub retry: Micros,
    /// Longest such wait; each one doubles the last.
    pub retry_max: Micros,
    /// Interval of the host's keep-alive messages.
    pub keep_alive: Micros,
    /// A peer silent for this long is lost.
    pub silence: Micros,
    /// A message or a transfer without progress for this long is given up.
    pub stall: Micros,
    /// Most chunks in flight.
    pub window: u16,
}

impl Timing {
    /// Returns timeouts for a line of this speed: the first one covers a window of full frames
    /// queued before the answer.
    #[must_use]
    pub const fn for_bit_rate(bits_per_second: u32) -> Self {
        let window = 12;
        let rate = if bits_per_second == 0 {
            1
        } else {
            bits_per_second as u64
        };
        let frame = Micros((MAX_WIRE as u64 * BITS_PER_BYTE * 1_000_000) / rate);
        let retry = answer_after(frame, window).0;
        Self {
            frame,
            retry: Micros(retry),
            retry_max: Micros(retry * 8),
            keep_alive: Micros(retry * 2),
            silence: Micros(retry * 32),
            stall: Micros(retry * 64),
            window,
        }
    }

    /// Returns how long an answer may take when `in_flight` full frames precede the question.
    pub(super) const fn answer_after(&self, in_flight: u16) -> Micros {
        answer_after(self.frame, in_flight)
    }
}

/// Adds up the frames before the question, one frame before the answer and a scheduling delay at
/// either end.
const fn answer_after(frame: Micros, in_flight: u16) -> Micros {
    Micros(
        frame
            .0
            .saturating_mul(in_flight as u64 + 2)
            .saturating_add(2 * SCHEDULING.0),
    )
}

impl Default for Timing {
    fn default() -> Self {
        Self::for_bit_rate(921_600)
    }
}

/// A timer with exponential back-off.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Retry {
    due: Option<Micros>,
    wait: Micros,
}

impl Retry {
    pub(super) const STOPPED: Self = Self {
        due: None,
        wait: Micros::ZERO,
    };

    /// Due at once, then after `first`, twice that, and so on.
    pub(super) const fn at_once(first: Micros) -> Self {
        Self {
            due: Some(Micros::ZERO),
            wait: first,
        }
    }

    /// Due after `first`.
    pub(super) const fn after(now: Micros, first: Micros) -> Self {
        Self {
            due: Some(now.saturating_add(first)),
            wait: first,
        }
    }

    pub(super) const fn due(&self) -> Option<Micros> {
        self.due
    }

    pub(super) fn is_due(&self, now: Micros) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Waits again, each time twice as long up to `longest`.
    pub(super) fn back_off(&mut self, now: Micros, longest: Micros) {
        self.due = Some(now.saturating_add(self.wait));
        self.wait = self.wait.saturating_add(self.wait).min(longest);
    }
}
