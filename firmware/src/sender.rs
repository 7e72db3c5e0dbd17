//! A wrapper for serial drivers that have a short buffer and lose wake-ups.
//!
//! embassy-stm32 0.6 (`BufferedUartTx::write`) refuses writes longer than its buffer, does not
//! register a waker when the buffer is full, and misses bytes that arrive while its interrupt
//! empties the buffer. embassy-rp 0.10 wakes a sender before it waits, or never when the FIFO is
//! already empty (embassy pull request 7015). This wrapper writes a piece at a time into an empty
//! buffer and polls every millisecond, with the interrupt raised by software.

use embassy_futures::select::{Either, select};
use embedded_io_async::{ErrorType, Write};
use gleaner_shared::units::Micros;

use crate::platform::Clock;

/// Interval of the polls.
const LOOK_AGAIN: Micros = Micros(1_000);

/// A driver that is polled until it has sent everything.
pub struct Sender<W, C, R> {
    driver: W,
    ring_bytes: usize,
    clock: C,
    raise: R,
}

impl<W: Write, C: Clock, R: FnMut()> Sender<W, C, R> {
    /// Wraps a driver with a buffer of `ring_bytes` bytes; `raise` makes its interrupt pending.
    pub const fn new(driver: W, ring_bytes: usize, clock: C, raise: R) -> Self {
        Self {
            driver,
            ring_bytes,
            clock,
            raise,
        }
    }

    /// Returns the time of the next poll.
    fn next_look(&self) -> Micros {
        self.clock.now().saturating_add(LOOK_AGAIN)
    }
}

impl<W: Write, C, R> ErrorType for Sender<W, C, R> {
    type Error = W::Error;
}

impl<W: Write, C: Clock, R: FnMut()> Write for Sender<W, C, R> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, W::Error> {
        let piece = &bytes[..bytes.len().min(self.ring_bytes)];
        // After an empty write embassy-stm32 would wait forever for its end.
        if piece.is_empty() {
            return Ok(0);
        }
        self.flush().await?;
        loop {
            // A driver that is dropped while it waits has taken nothing.
            let look = self.next_look();
            match select(self.driver.write(piece), self.clock.wait_until(look)).await {
                Either::First(written) => return written,
                Either::Second(()) => (self.raise)(),
            }
        }
    }

    async fn flush(&mut self) -> Result<(), W::Error> {
        loop {
            let look = self.next_look();
            match select(self.driver.flush(), self.clock.wait_until(look)).await {
                Either::First(done) => return done,
                Either::Second(()) => (self.raise)(),
            }
        }
    }
}
