//! One end of one line: the host's state machine with bytes and wall time behind it.
//!
//! Memory is bounded: a frame each way, the bytes on offer (shared with other peers) and room for
//! the one transfer that is expected. So is work: no more is read of a line than an honest board
//! has to say. A peer that does not read, says nothing or talks nonsense costs its own task a
//! time-out and nobody else anything.

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

/// Bytes taken from the line at once.
const INPUT: usize = 2048;

/// Bytes a line may bring at once: some twenty-five updates.
const BURST: f64 = 1_048_576.0;

/// Bytes a line may bring in a second, almost three times what a board's serial line carries. More
/// waits on the line, so that a flood takes no processor from other boards.
const RATE: f64 = 262_144.0;

/// A line, while there is one.
struct Line {
    read: ReadHalf<Box<dyn ByteStream>>,
    write: WriteHalf<Box<dyn ByteStream>>,
}

/// The host's end of a line to one device; it outlives the line.
pub struct Peer {
    machine: HostLink<HostKeys>,
    line: Option<Line>,
    epoch: Instant,
    /// What may still be read; outlives the line, as hanging up earns nothing.
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
    /// Makes the end for a device that knows one of `keys`; the public key works without secrets.
    ///
    /// # Errors
    /// When the system has no randomness to give.
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

    /// Goes on over a new line: asks for a new session.
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

    /// Asks for a session under other keys; the open one goes on until there is one.
    pub fn connect_with(&mut self, keys: HostKeys) {
        self.machine.set_keys(keys);
        self.machine.connect();
    }

    /// Queues a message.
    ///
    /// # Errors
    /// Without a session, or with too many messages waiting.
    pub fn send(&mut self, message: HostToDevice) -> Result<(), SendError> {
        self.machine.send(message)
    }

    /// Offers bytes; an offer before it that was not finished is dropped.
    ///
    /// # Errors
    /// Without a session, with a full queue, or for an impossible length.
    pub fn offer(&mut self, payload: Payload, source: Arc<[u8]>) -> Result<(), SendError> {
        self.machine.withdraw();
        let now = self.now();
        self.machine.offer(now, payload, None, &source)?;
        self.source = source;
        Ok(())
    }

    /// Accepts the transfer on offer, of `len` bytes.
    ///
    /// # Errors
    /// When nothing is on offer.
    pub fn accept(&mut self, len: usize) -> Result<(), SendError> {
        self.store.resize(len, 0);
        self.machine.accept(&self.store).map(drop)
    }

    /// Declines the transfer on offer.
    ///
    /// # Errors
    /// When nothing is on offer, or with too many messages waiting.
    pub fn reject(&mut self, reason: RejectReason) -> Result<(), SendError> {
        self.machine.reject(reason)
    }

    /// Takes what was received.
    pub fn take_received(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.store)
    }

    /// Returns (chunks delivered, chunks in all) of the outgoing transfer.
    #[must_use]
    pub fn sending(&self) -> Option<(u16, u16)> {
        self.machine.sending()
    }

    /// Returns what the link has been through.
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
    /// The line is gone; give the peer another with [`Peer::plug`].
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
        // Not read in place: whoever drops this wait must not leave half-read bytes behind.
        let mut piece = [0; INPUT];
        let ready_at = self.intake.ready_at(Instant::now(), INPUT as f64);
        // Whichever comes: a line that never falls silent must not keep this end from writing.
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
    async fn a_flood_is_read_no_faster_than_a_board_may_speak() {
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
        // And no slower: what is left waits for the line alone.
        assert!(took <= Duration::from_secs(2 * SECONDS), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_that_never_falls_silent_is_written_to() {
        let (near, mut far) = tokio::io::duplex(4096);
        let noise = tokio::io::repeat(0x55).take(1_000 * INPUT as u64);
        let mut peer = Peer::try_new(Key::PUBLIC, Timing::for_bit_rate(921_600)).unwrap();
        peer.plug(Box::new(tokio::io::join(noise, near)));
        let ended = peer.next().await;
        assert!(ended.is_err_and(|error| error.kind() == io::ErrorKind::UnexpectedEof));
        drop(peer);
        let mut heard = Vec::new();
        far.read_to_end(&mut heard).await.unwrap();
        assert!(heard.len() > 1, "the request for a session, not {heard:?}");
    }
}
