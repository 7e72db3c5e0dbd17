//! Counts of connections to the listener, by outcome. They are not logged one by one, since anybody
//! may connect.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Mutex, OnceLock, PoisonError};

use gleaner_shared::wire::message::DeviceId;
use gleaner_sim::ClientId;
use serde::Serialize;

use crate::link::incoming::Rivalry;

/// How a handshake ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A board proved its key; its task has the connection.
    Accepted,
    /// No greeting came in time.
    Silent,
    /// The greeting was recorded on another connection.
    Replayed,
    /// Too many bytes came without a greeting.
    Noisy,
    /// The greeting was made with none of the keys.
    UnknownKey(DeviceId),
    /// The greeting was made without a key, by no board that may do so.
    NoKey(DeviceId),
    /// A board's greeting came from firmware of another protocol version.
    OtherVersion,
    /// A second device proved this board's key.
    Rival(ClientId, Rivalry),
    /// The other side closed the connection first.
    HungUp,
    /// The connection was closed for a newer one.
    Evicted,
}

/// Number of connections by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConnectionCounts {
    /// All connections, whatever came of them.
    pub connections: u64,
    /// Connections of boards that proved their key.
    pub accepted: u64,
    /// Connections without a greeting in time.
    pub silent: u64,
    /// Connections whose greeting was recorded on another one.
    pub replayed: u64,
    /// Connections with too many bytes and no greeting.
    pub noisy: u64,
    /// Connections whose greeting was made with none of the keys.
    pub unknown_keys: u64,
    /// Connections without a key, with an unexpected chip number.
    pub keyless: u64,
    /// Connections of boards with firmware of another protocol version.
    pub other_versions: u64,
    /// Connections of a second device with a board's key, or of lines that displaced each other.
    pub rivals: u64,
    /// Connections that the other side closed before its greeting.
    pub hung_up: u64,
    /// Connections that were closed for newer ones.
    pub evicted: u64,
    /// Connections that waited because there were too many in a short time.
    pub delayed: u64,
    /// Most connections without a greeting at any one time.
    pub max_half_open: usize,
    /// The board whose key a second device proved last, and both devices.
    #[serde(skip)]
    pub last_rivalry: Option<(ClientId, Rivalry)>,
    /// The chip number in the last greeting of an unknown board.
    #[serde(skip)]
    pub last_unknown: Option<DeviceId>,
}

impl ConnectionCounts {
    /// Returns the number of connections that were not accepted, whatever the reason.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.reasons().iter().map(|(times, _)| times).sum()
    }

    fn reasons(&self) -> [(u64, &'static str); 9] {
        [
            (self.silent, "silent"),
            (self.replayed, "with a recorded greeting"),
            (self.noisy, "noisy"),
            (self.unknown_keys, "with an unknown key"),
            (self.keyless, "without a key"),
            (self.other_versions, "with other firmware"),
            (self.rivals, "with the key of another board"),
            (self.hung_up, "hung up"),
            (self.evicted, "evicted"),
        ]
    }

    fn count(&mut self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::Accepted => &mut self.accepted,
            Outcome::Silent => &mut self.silent,
            Outcome::Replayed => &mut self.replayed,
            Outcome::Noisy => &mut self.noisy,
            Outcome::UnknownKey(_) => &mut self.unknown_keys,
            Outcome::NoKey(_) => &mut self.keyless,
            Outcome::OtherVersion => &mut self.other_versions,
            Outcome::Rival(..) => &mut self.rivals,
            Outcome::HungUp => &mut self.hung_up,
            Outcome::Evicted => &mut self.evicted,
        };
        *counter += 1;
        if let Outcome::UnknownKey(device) | Outcome::NoKey(device) = outcome {
            self.last_unknown = Some(device);
        }
        if let Outcome::Rival(client, rivalry) = outcome {
            self.last_rivalry = Some((client, rivalry));
        }
    }
}

impl fmt::Display for ConnectionCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} accepted, {} rejected",
            self.accepted,
            self.rejected()
        )?;
        let reasons = self.reasons();
        let reasons = reasons.iter().filter(|(times, _)| *times > 0);
        for (at, (times, reason)) in reasons.enumerate() {
            write!(f, "{}{times} {reason}", if at == 0 { ": " } else { ", " })?;
        }
        match self.last_unknown {
            Some(device) => write!(f, "; the last unknown chip number is {device}"),
            None => Ok(()),
        }
    }
}

/// Address and connection counts of a listener, shared with the views of a run.
#[derive(Debug, Default)]
pub struct ListenerStatus {
    address: OnceLock<SocketAddr>,
    counts: Mutex<ConnectionCounts>,
}

impl ListenerStatus {
    /// Returns the listener's address, once it accepts connections.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address.get().copied()
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> ConnectionCounts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_address(&self, address: SocketAddr) {
        // A run has one listener; a second one would keep the address of the first.
        let _ = self.address.set(address);
    }

    pub(super) fn connected(&self, delayed: bool, half_open: usize) {
        self.change(|counts| {
            counts.connections += 1;
            counts.delayed += u64::from(delayed);
            counts.max_half_open = counts.max_half_open.max(half_open);
        });
    }

    pub(super) fn count(&self, outcome: Outcome) {
        self.change(|counts| counts.count(outcome));
    }

    fn change(&self, change: impl FnOnce(&mut ConnectionCounts)) {
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl fmt::Display for ListenerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Some(address) => write!(f, "listens on {address}: {}", self.counts()),
            None => f.write_str("does not listen"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::incoming::Caller;

    #[test]
    fn every_outcome_is_counted_once_and_shown() {
        let status = ListenerStatus::default();
        assert_eq!(status.to_string(), "does not listen");
        status.set_address(SocketAddr::from(([127, 0, 0, 1], 9)));
        let device = DeviceId([0xAB; 12]);
        let caller = Caller {
            device,
            from: SocketAddr::from(([127, 0, 0, 1], 8)),
        };
        let rivalry = Rivalry {
            kept: caller,
            refused: caller,
            times: 1,
        };
        for outcome in [
            Outcome::Accepted,
            Outcome::Silent,
            Outcome::Replayed,
            Outcome::Noisy,
            Outcome::UnknownKey(device),
            Outcome::NoKey(device),
            Outcome::OtherVersion,
            Outcome::Rival(ClientId(2), rivalry),
            Outcome::HungUp,
            Outcome::Evicted,
        ] {
            status.connected(false, 3);
            status.count(outcome);
        }
        let counts = status.counts();
        assert_eq!(
            (counts.connections, counts.accepted, counts.rejected()),
            (10, 1, 9)
        );
        assert_eq!(counts.max_half_open, 3);
        assert_eq!(counts.last_rivalry, Some((ClientId(2), rivalry)));
        assert_eq!(
            status.to_string(),
            "listens on 127.0.0.1:9: 1 accepted, 9 rejected: 1 silent, 1 with a recorded greeting, \
             1 noisy, 1 with an unknown key, 1 without a key, 1 with other firmware, 1 with the key of \
             another board, 1 hung up, 1 evicted; the last unknown chip number is abababababababababababab"
        );
    }
}
