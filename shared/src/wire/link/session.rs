//! One session's key, number and sequence counters: authenticity and freshness of frames.

use crate::wire::auth::{Key, Nonce};
use crate::wire::frame::{Direction, Frame, Header, Kind};

/// Why an intact frame is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rejected {
    /// The tag was made with another key.
    Forged,
    /// Not newer than the newest frame seen: a duplicate or a replay.
    Replayed,
}

/// A session both nonces gave rise to.
#[derive(Clone, Debug)]
pub(super) struct Session {
    id: u32,
    key: Key,
    /// Nonce the host opened it with.
    host_nonce: Nonce,
    sent: u32,
    seen: u32,
}

impl Session {
    pub(super) fn new(device_key: &Key, host_nonce: &Nonce, device_nonce: &Nonce) -> Self {
        let key = device_key.session(host_nonce, device_nonce);
        Self {
            id: key.session_id(),
            key,
            host_nonce: *host_nonce,
            sent: 0,
            seen: 0,
        }
    }

    pub(super) const fn id(&self) -> u32 {
        self.id
    }

    pub(super) const fn key(&self) -> &Key {
        &self.key
    }

    pub(super) const fn host_nonce(&self) -> &Nonce {
        &self.host_nonce
    }

    /// Returns the sequence of the newest frame seen.
    pub(super) const fn seen(&self) -> u32 {
        self.seen
    }

    /// Returns the sequence the next frame will have, or `None` when all have been used.
    pub(super) const fn next_sequence(&self) -> Option<u32> {
        self.sent.checked_add(1)
    }

    /// Takes the next sequence number.
    pub(super) fn next_header(&mut self, direction: Direction, kind: Kind) -> Option<Header> {
        self.sent = self.next_sequence()?;
        Some(Header {
            direction,
            kind,
            session: self.id,
            sequence: self.sent,
        })
    }

    /// Accepts a frame once, if its tag fits and it is newer than all before it.
    pub(super) fn admit(&mut self, frame: &Frame<'_>) -> Result<(), Rejected> {
        if frame.header.sequence <= self.seen {
            return Err(Rejected::Replayed);
        }
        if !frame.is_authentic(&self.key) {
            return Err(Rejected::Forged);
        }
        self.seen = frame.header.sequence;
        Ok(())
    }
}
