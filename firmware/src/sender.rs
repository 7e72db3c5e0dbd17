//! Bytes to a driver whose ring is short and whose wake-ups get lost.
//!
//! embassy-stm32 0.6 (`BufferedUartTx::write`) refuses what is longer than its ring, leaves a sender
//! that meets a full ring without a waker, and misses bytes that arrive while its interrupt runs the
//! ring dry. embassy-rp 0.10 wakes a full ring's sender before it can be woken, or never when the
//! FIFO is already empty (embassy pull request 7015). Against all of them: a piece at a time into an
//! empty ring, and whoever waits looks again every millisecond, with the interrupt raised by hand.

use embassy_futures::select::{Either, select};
use embedded_io_async::{ErrorType, Write};
use gleaner_shared::units::Micros;

use crate::platform::Clock;

/// How long a driver may be silent before it is asked again.
const LOOK_AGAIN: Micros = Micros(1_000);

/// A driver that can be trusted to send.
pub struct Sender<W, C, R> {
    driver: W,
    ring_bytes: usize,
    clock: C,
    raise: R,
}

impl<W: Write, C: Clock, R: FnMut()> Sender<W, C, R> {
    /// Wraps a driver with a ring of so many bytes; `raise` makes its interrupt pending.
    pub const fn new(driver: W, ring_bytes: usize, clock: C, raise: R) -> Self {
        Self {
            driver,
            ring_bytes,
            clock,
            raise,
        }
    }

    /// Returns when the next look is due.
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
        // After a write of nothing embassy-stm32 would wait for its end for ever.
        if piece.is_empty() {
            return Ok(0);
        }
        self.flush().await?;
        loop {
            // A driver that is left while it waits has taken nothing.
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
