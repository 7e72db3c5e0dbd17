//! One session's key, number and sequence counters: authenticity and freshness of frames.

use crate::wire::auth::Nonce;
use crate::wire::frame::{Direction, Frame, Header, Kind};
use crate::wire::keys::Generation;
use crate::wire::seal::SessionKey;

/// The reason why an intact frame is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rejected {
    /// Sealed with another key, or changed on the way.
    Forged,
    /// Not newer than the newest frame seen: a duplicate or a replay.
    Replayed,
}

/// An accepted frame: its kind and decrypted payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened<'a> {
    pub(super) kind: Kind,
    pub(super) payload: &'a [u8],
}

/// A session derived from both nonces.
#[derive(Clone, Debug)]
pub(super) struct Session {
    key: SessionKey,
    /// Generation of the device's key.
    generation: u32,
    /// The host's nonce that opened it.
    host_nonce: Nonce,
    sent: u32,
    seen: u32,
}

impl Session {
    pub(super) fn new(device_key: &Generation, host_nonce: &Nonce, device_nonce: &Nonce) -> Self {
        Self {
            key: device_key.key.session(host_nonce, device_nonce),
            generation: device_key.number,
            host_nonce: *host_nonce,
            sent: 0,
            seen: 0,
        }
    }

    pub(super) const fn id(&self) -> u32 {
        self.key.id()
    }

    pub(super) const fn key(&self) -> &SessionKey {
        &self.key
    }

    pub(super) const fn host_nonce(&self) -> &Nonce {
        &self.host_nonce
    }

    pub(super) const fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns the sequence number of the newest frame received.
    pub(super) const fn seen(&self) -> u32 {
        self.seen
    }

    /// Returns the next sequence number, or `None` if all have been used.
    pub(super) const fn next_sequence(&self) -> Option<u32> {
        self.sent.checked_add(1)
    }

    /// Takes the next sequence number.
    pub(super) fn next_header(&mut self, direction: Direction, kind: Kind) -> Option<Header> {
        self.sent = self.next_sequence()?;
        Some(Header {
            direction,
            kind,
            session: self.key.id(),
            sequence: self.sent,
        })
    }

    /// Opens a frame once, if it was sealed in this session and is newer than all before it.
    pub(super) fn admit<'a>(&mut self, frame: Frame<'a>) -> Result<Opened<'a>, Rejected> {
        let Header { kind, sequence, .. } = frame.header;
        if sequence <= self.seen {
            return Err(Rejected::Replayed);
        }
        let payload = frame.open(&self.key).ok_or(Rejected::Forged)?;
        self.seen = sequence;
        Ok(Opened { kind, payload })
    }
}
