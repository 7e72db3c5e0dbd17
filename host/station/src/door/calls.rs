//! What came of the calls: counted, never logged one by one, for anybody may call.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Mutex, OnceLock, PoisonError};

use gleaner_shared::wire::message::DeviceId;
use serde::Serialize;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was a board's, and its task has the line.
    LetIn,
    /// Nobody greeted in time.
    Silent,
    /// What greeted had been recorded on another line.
    Replayed,
    /// Too many bytes, and no greeting among them.
    Noisy,
    /// A greeting made with none of the keys.
    Stranger(DeviceId),
    /// A greeting made with no key at all, of no board that may call without.
    Keyless(DeviceId),
    /// A board's greeting, from firmware of another revision.
    OtherVersion,
    /// The caller hung up first.
    Left,
    /// It gave way to newer calls.
    Evicted,
}

/// How many calls ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Calls that were answered.
    pub answered: u64,
    /// Boards that proved who they are.
    pub let_in: u64,
    /// Callers that did not greet in time.
    pub silent: u64,
    /// Callers with a greeting that was recorded on another line.
    pub replayed: u64,
    /// Callers with too many bytes and no greeting among them.
    pub noisy: u64,
    /// Callers whose greeting was made with none of the keys.
    pub strangers: u64,
    /// Callers without a key, with a chip's number that is not expected.
    pub keyless: u64,
    /// Boards with firmware of another revision.
    pub other_versions: u64,
    /// Callers that hung up before they greeted.
    pub left: u64,
    /// Callers that gave way to newer ones.
    pub evicted: u64,
    /// Calls that had to wait because there were too many in a short time.
    pub delayed: u64,
    /// Most callers that had not greeted yet, at any one time.
    pub most_half_open: usize,
    /// The number the last stranger gave its chip, if any did.
    #[serde(skip)]
    pub last_stranger: Option<DeviceId>,
}

impl Tally {
    /// Returns how many callers were not let in, whatever the reason.
    #[must_use]
    pub fn turned_away(&self) -> u64 {
        self.reasons().iter().map(|(times, _)| times).sum()
    }

    fn reasons(&self) -> [(u64, &'static str); 8] {
        [
            (self.silent, "silent"),
            (self.replayed, "with a recorded greeting"),
            (self.noisy, "noisy"),
            (self.strangers, "with an unknown key"),
            (self.keyless, "without a key"),
            (self.other_versions, "with other firmware"),
            (self.left, "hung up"),
            (self.evicted, "gave way"),
        ]
    }

    fn count(&mut self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::LetIn => &mut self.let_in,
            Outcome::Silent => &mut self.silent,
            Outcome::Replayed => &mut self.replayed,
            Outcome::Noisy => &mut self.noisy,
            Outcome::Stranger(_) => &mut self.strangers,
            Outcome::Keyless(_) => &mut self.keyless,
            Outcome::OtherVersion => &mut self.other_versions,
            Outcome::Left => &mut self.left,
            Outcome::Evicted => &mut self.evicted,
        };
        *counter += 1;
        if let Outcome::Stranger(device) | Outcome::Keyless(device) = outcome {
            self.last_stranger = Some(device);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} let in, {} turned away",
            self.let_in,
            self.turned_away()
        )?;
        let reasons = self.reasons();
        let reasons = reasons.iter().filter(|(times, _)| *times > 0);
        for (at, (times, reason)) in reasons.enumerate() {
            write!(f, "{}{times} {reason}", if at == 0 { ": " } else { ", " })?;
        }
        match self.last_stranger {
            Some(device) => write!(f, "; the last one gave its chip the number {device}"),
            None => Ok(()),
        }
    }
}

/// What came of the calls so far, for whoever follows the run.
#[derive(Debug, Default)]
pub struct Calls {
    address: OnceLock<SocketAddr>,
    tally: Mutex<Tally>,
}

impl Calls {
    /// Returns where boards may call, once they may.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address.get().copied()
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn answer_at(&self, address: SocketAddr) {
        // A second door of one run would keep the first one's name; there is none.
        let _ = self.address.set(address);
    }

    pub(super) fn answered(&self, delayed: bool, half_open: usize) {
        self.change(|tally| {
            tally.answered += 1;
            tally.delayed += u64::from(delayed);
            tally.most_half_open = tally.most_half_open.max(half_open);
        });
    }

    pub(super) fn count(&self, outcome: Outcome) {
        self.change(|tally| tally.count(outcome));
    }

    fn change(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Some(address) => write!(f, "listens on {address}: {}", self.tally()),
            None => f.write_str("does not listen"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_of_a_call_is_counted_once_and_told_in_words() {
        let calls = Calls::default();
        assert_eq!(calls.to_string(), "does not listen");
        calls.answer_at(SocketAddr::from(([127, 0, 0, 1], 9)));
        let device = DeviceId([0xAB; 12]);
        for outcome in [
            Outcome::LetIn,
            Outcome::Silent,
            Outcome::Replayed,
            Outcome::Noisy,
            Outcome::Stranger(device),
            Outcome::Keyless(device),
            Outcome::OtherVersion,
            Outcome::Left,
            Outcome::Evicted,
        ] {
            calls.answered(false, 3);
            calls.count(outcome);
        }
        let tally = calls.tally();
        assert_eq!(
            (tally.answered, tally.let_in, tally.turned_away()),
            (9, 1, 8)
        );
        assert_eq!(tally.most_half_open, 3);
        assert_eq!(
            calls.to_string(),
            "listens on 127.0.0.1:9: 1 let in, 8 turned away: 1 silent, 1 with a recorded greeting, \
             1 noisy, 1 with an unknown key, 1 without a key, 1 with other firmware, 1 hung up, 1 \
             gave way; the last one gave its chip the number abababababababababababab"
        );
    }
}
