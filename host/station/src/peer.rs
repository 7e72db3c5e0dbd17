//! The host's end of one line: drives the link's state machine with bytes and wall time.
//!
//! Memory is bounded: a frame each way, the offered bytes (shared with other peers) and room for the
//! one expected transfer. So is work: a line is read no faster than a well-behaved board sends. A
//! device that does not read, is silent or sends garbage costs its own task a timeout, and no other
//! task anything.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::units::Micros;
use gleaner_shared::wire::link::{Event, HostEnd, HostLink, SendError, Timing};
use gleaner_shared::wire::message::{Counters, HostToDevice, Payload, RejectReason};
use gleaner_shared::wire::{FrameBuffer, HostKeys};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep_until};

use crate::link::ByteStream;
use crate::rate_limit::TokenBucket;

/// Bytes read from the line at once.
const INPUT: usize = 2048;

/// Burst of bytes on a line: some twenty-five updates.
const BURST: f64 = 1_048_576.0;

/// Bytes per second on a line, almost three times the rate of a board's serial line. More bytes wait
/// on the line, so that a flood takes no processor time from other boards.
const RATE: f64 = 262_144.0;

struct Line {
    read: ReadHalf<Box<dyn ByteStream>>,
    write: WriteHalf<Box<dyn ByteStream>>,
}

/// The host's end of the lines to one device.
pub struct Peer {
    machine: HostLink<HostKeys>,
    line: Option<Line>,
    epoch: Instant,
    /// Rate limit of reading, which a new line does not reset.
    intake: TokenBucket,
    input: Vec<u8>,
    /// Where in `input` the unread bytes begin.
    taken: usize,
    frame: FrameBuffer,
    output: Vec<u8>,
    /// Where in `output` the unwritten bytes begin.
    written: usize,
    source: Arc<[u8]>,
    store: Vec<u8>,
}

impl Peer {
    /// Creates the end for a device that knows one of `keys`; the public key needs no secret.
    ///
    /// # Errors
    /// Returns an error if the system has no randomness.
    pub fn try_new(keys: impl Into<HostKeys>, timing: Timing) -> io::Result<Self> {
        let mut entropy = [0; 32];
        getrandom::fill(&mut entropy).map_err(io::Error::other)?;
        Ok(Self {
            machine: HostLink::new(keys.into(), entropy, timing),
            line: None,
            epoch: Instant::now(),
            intake: TokenBucket::new(BURST, RATE),
            input: Vec::new(),
            taken: 0,
            frame: FrameBuffer::new(),
            output: Vec::new(),
            written: 0,
            source: Arc::new([]),
            store: Vec::new(),
        })
    }

    /// Continues over a new line, with a new session.
    pub fn plug(&mut self, link: Box<dyn ByteStream>) {
        let (read, write) = tokio::io::split(link);
        self.line = Some(Line { read, write });
        self.input.clear();
        self.taken = 0;
        self.output.clear();
        self.written = 0;
        self.machine.connect();
    }

    /// Closes the line, if there is one.
    pub fn unplug(&mut self) {
        self.line = None;
    }

    /// Asks for a session under other keys; the open one lasts until then.
    pub fn connect_with(&mut self, keys: HostKeys) {
        self.machine.set_keys(keys);
        self.reconnect();
    }

    /// Asks for a new session on the same line; the open one lasts until then.
    pub fn reconnect(&mut self) {
        self.machine.connect();
    }

    /// Tells whether every queued message was sent at least once: only then can the board answer it.
    #[must_use]
    pub fn is_said(&self) -> bool {
        self.machine.is_said()
    }

    /// Queues a message.
    ///
    /// # Errors
    /// Returns an error without a session, or if the queue is full.
    pub fn send(&mut self, message: HostToDevice) -> Result<(), SendError> {
        self.machine.send(message)
    }

    /// Offers a transfer, and drops an unfinished one.
    ///
    /// # Errors
    /// Returns an error without a session, if the queue is full, or for an impossible length.
    pub fn offer(&mut self, payload: Payload, source: Arc<[u8]>) -> Result<(), SendError> {
        self.machine.withdraw();
        let now = self.now();
        self.machine.offer(now, payload, None, &source)?;
        self.source = source;
        Ok(())
    }

    /// Accepts the offered transfer of `len` bytes.
    ///
    /// # Errors
    /// Returns an error if nothing is offered.
    pub fn accept(&mut self, len: usize) -> Result<(), SendError> {
        self.store.resize(len, 0);
        self.machine.accept(&self.store).map(drop)
    }

    /// Declines the offered transfer.
    ///
    /// # Errors
    /// Returns an error if nothing is offered, or if the queue is full.
    pub fn reject(&mut self, reason: RejectReason) -> Result<(), SendError> {
        self.machine.reject(reason)
    }

    /// Takes the bytes of the received transfer.
    pub fn take_received(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.store)
    }

    /// Tells whether every message has arrived.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.machine.is_idle()
    }

    /// Returns (chunks delivered, chunks in all) of the outgoing transfer.
    #[must_use]
    pub fn sending(&self) -> Option<(u16, u16)> {
        self.machine.sending()
    }

    /// Returns the counters of the link.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.machine.counters()
    }

    fn now(&self) -> Micros {
        Micros(u64::try_from(self.epoch.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// Waits for the next event; may be dropped and called again at any time.
    ///
    /// # Errors
    /// Returns an error if the line is gone; continue with [`Peer::plug`].
    pub async fn next(&mut self) -> io::Result<Event<HostEnd>> {
        loop {
            let now = self.now();
            let mut bytes = &self.input[self.taken..];
            let event = match bytes.is_empty() {
                true => None,
                false => self.machine.receive(now, &mut bytes, &mut self.store),
            };
            self.taken = self.input.len() - bytes.len();
            if let Some(event) = event.or_else(|| self.machine.poll(now)) {
                return Ok(event);
            }
            if let Err(error) = self.exchange(now).await {
                self.line = None;
                return Err(error);
            }
        }
    }

    /// Moves bytes one way or the other, or waits until the machine wants to act.
    async fn exchange(&mut self, now: Micros) -> io::Result<()> {
        if self.written == self.output.len() {
            self.written = 0;
            self.output.clear();
            if let Some(bytes) = self.machine.transmit(now, &self.source, &mut self.frame) {
                self.output.extend_from_slice(bytes);
            }
        }
        let Some(Line { read, write }) = &mut self.line else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let pending = &self.output[self.written..];
        let wake = self.machine.next_wake();
        let wake = wake.map(|at| self.epoch + Duration::from_micros(at.0));
        self.input.clear();
        self.taken = 0;
        // Not read in place, since a dropped wait must not leave half-read bytes behind.
        let mut piece = [0; INPUT];
        let ready_at = self.intake.ready_at(Instant::now(), INPUT as f64);
        // A line that is never silent must not keep this end from writing.
        tokio::select! {
            result = read.read(&mut piece), if ready_at.is_none() => match result? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                len => {
                    self.intake.take(Instant::now(), len as f64);
                    self.input.extend_from_slice(&piece[..len]);
                }
            },
            () = sleep_until(ready_at.unwrap_or(self.epoch)), if ready_at.is_some() => {}
            result = write.write(pending), if !pending.is_empty() => match result? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                len => self.written += len,
            },
            // With bytes to write the machine has nothing else to do but expire, which it
            // does at the latest when its peer's silence has lasted too long.
            () = sleep_until(wake.unwrap_or(self.epoch)), if pending.is_empty() && wake.is_some() => {}
            () = tokio::time::sleep(Duration::from_millis(200)), if !pending.is_empty() => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use gleaner_shared::wire::Key;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_read_at_the_rate_limit() {
        const SECONDS: u64 = 10;
        let flood = BURST as u64 + SECONDS * RATE as u64;
        let line = tokio::io::join(tokio::io::repeat(0x55).take(flood), tokio::io::sink());
        let mut peer = Peer::try_new(Key::PUBLIC, Timing::for_bit_rate(921_600)).unwrap();
        peer.plug(Box::new(line));
        let begin = Instant::now();
        let ended = peer.next().await;
        assert!(ended.is_err_and(|error| error.kind() == io::ErrorKind::UnexpectedEof));
        let took = begin.elapsed();
        assert!(took >= Duration::from_secs(SECONDS - 1), "{took:?}");
        // And no slower than the rate limit.
        assert!(took <= Duration::from_secs(2 * SECONDS), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_that_is_never_silent_is_written_to() {
        let (near, mut far) = tokio::io::duplex(4096);
        let noise = tokio::io::repeat(0x55).take(1_000 * INPUT as u64);
        let mut peer = Peer::try_new(Key::PUBLIC, Timing::for_bit_rate(921_600)).unwrap();
        peer.plug(Box::new(tokio::io::join(noise, near)));
        let ended = peer.next().await;
        assert!(ended.is_err_and(|error| error.kind() == io::ErrorKind::UnexpectedEof));
        drop(peer);
        let mut sent = Vec::new();
        far.read_to_end(&mut sent).await.unwrap();
        assert!(sent.len() > 1, "the request for a session, not {sent:?}");
    }
}
