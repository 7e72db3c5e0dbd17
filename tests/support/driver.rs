//! Models of embassy's serial drivers and their faults: one refuses long writes, both lose wake-ups.

use std::convert::Infallible;
use std::future::poll_fn;
use std::task::Poll;

use embedded_io_async::{ErrorKind, ErrorType, Write};
use gleaner_firmware::sender::Sender;

use crate::in_process::{InProcess, Shared, VirtualClock, boot, run_client};
use crate::nor::Nor;

/// Size of each driver's ring; a frame of a model is four times as long.
const RING_BYTES: usize = 256;

/// Starts a client whose port is embassy-stm32's.
#[must_use]
pub fn on_bare_stm32(shard: &[u8]) -> InProcess {
    InProcess::start_with(shard, Nor::new(2, 0), |world, shard, flash| {
        boot(
            world,
            Stm32Uart(Ring(world.clone())),
            shard,
            flash,
            run_client,
        )
    })
}

/// Starts the same client behind the firmware's [`Sender`].
#[must_use]
pub fn on_stm32(shard: &[u8]) -> InProcess {
    InProcess::start_with(shard, Nor::new(2, 0), |world, shard, flash| {
        let clock = VirtualClock(world.clone());
        let sender = Sender::new(Stm32Uart(Ring(world.clone())), RING_BYTES, clock, || {});
        boot(world, sender, shard, flash, run_client)
    })
}

/// A client whose port is embassy-rp's at its worst: every wake-up of a sender is lost.
#[must_use]
pub fn on_bare_rp2040(shard: &[u8]) -> InProcess {
    InProcess::start_with(shard, Nor::new(2, 0), |world, shard, flash| {
        boot(world, RpUart(Ring(world.clone())), shard, flash, run_client)
    })
}

/// Starts the same client behind the firmware's [`Sender`].
#[must_use]
pub fn on_rp2040(shard: &[u8]) -> InProcess {
    InProcess::start_with(shard, Nor::new(2, 0), |world, shard, flash| {
        let clock = VirtualClock(world.clone());
        let sender = Sender::new(RpUart(Ring(world.clone())), RING_BYTES, clock, || {});
        boot(world, sender, shard, flash, run_client)
    })
}

/// The ring and the wire behind it, which takes its bytes one after the other.
struct Ring(Shared);

impl Ring {
    fn room(&self) -> usize {
        let world = self.0.borrow();
        RING_BYTES.saturating_sub(world.to_host.leaving_after(world.now))
    }

    fn put(&self, bytes: &[u8]) {
        let mut world = self.0.borrow_mut();
        let now = world.now;
        world.to_host.put(now, bytes);
    }
}

/// embassy-stm32 0.6, `usart/buffered.rs`: what is longer than the ring is refused, a ring without
/// room lets its sender wait without a waker, and only the end of everything wakes who flushes.
struct Stm32Uart(Ring);

#[derive(Debug)]
struct BufferTooLong;

impl core::fmt::Display for BufferTooLong {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("longer than the ring")
    }
}

impl core::error::Error for BufferTooLong {}

impl embedded_io_async::Error for BufferTooLong {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

impl ErrorType for Stm32Uart {
    type Error = BufferTooLong;
}

impl Write for Stm32Uart {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, BufferTooLong> {
        poll_fn(|_| {
            if bytes.len() > RING_BYTES {
                return Poll::Ready(Err(BufferTooLong));
            }
            if self.0.room() < bytes.len() {
                // As in the driver, the waker is not registered.
                return Poll::Pending;
            }
            self.0.put(bytes);
            Poll::Ready(Ok(bytes.len()))
        })
        .await
    }

    async fn flush(&mut self) -> Result<(), BufferTooLong> {
        poll_fn(|context| {
            let mut world = self.0.0.borrow_mut();
            let done = world.to_host.silent_at();
            if world.now < done {
                world.interrupts.push((done, context.waker().clone()));
                return Poll::Pending;
            }
            Poll::Ready(Ok(()))
        })
        .await
    }
}

/// embassy-rp 0.10, `uart/buffered.rs`, with the lost wake-up of pull request 7015 at every turn:
/// the interrupt empties the ring just before its sender asks to be woken, and comes no more.
struct RpUart(Ring);

impl ErrorType for RpUart {
    type Error = Infallible;
}

impl Write for RpUart {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        poll_fn(|_| {
            let count = bytes.len().min(self.0.room());
            if count == 0 {
                return Poll::Pending;
            }
            self.0.put(&bytes[..count]);
            Poll::Ready(Ok(count))
        })
        .await
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        poll_fn(|_| match self.0.room() {
            RING_BYTES => Poll::Ready(Ok(())),
            _ => Poll::Pending,
        })
        .await
    }
}
