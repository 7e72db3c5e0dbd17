//! Rotates the key of a board: the next key is on the disk before it is sent, sealed, and becomes
//! the key when a session under it is open.
//!
//! Whoever is interrupted runs it again: it goes on from what list and board hold. `docs/wire.md`
//! has the steps.

use std::fmt;
use std::io;
use std::time::Duration;

use gleaner_shared::wire::HostKeys;
use gleaner_shared::wire::link::{Event, Greeting, HostEnd};
use gleaner_shared::wire::message::{
    DeviceToHost, HostToDevice, Refusal, RekeyRefusal, ShardStatus,
};
use tokio::time::{sleep, timeout};

use super::link::Endpoint;
use super::peer::Peer;
use crate::fleet_file::{Entry, KeyStore, KeyStoreError};

/// Between two attempts to open a line.
const REOPEN: Duration = Duration::from_millis(500);

/// How often a session may be refused: a board that holds another next key is asked for the key
/// before it, and strangers may refuse in a board's name.
const REFUSALS: u32 = 4;

/// Why a board's key was not rotated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RekeyError {
    /// It has no key.
    #[error(
        "it has no key to rotate: put one into `key` (`openssl rand -hex 32` makes some) and write \
         it with `gleaner flash`"
    )]
    Unkeyed,
    /// The list cannot be read or written.
    #[error(transparent)]
    List(#[from] KeyStoreError),
    /// Another client's board is on its line.
    #[error("the board on this line is client {found}: correct its place, or flash its shard")]
    OtherClient {
        /// The client of the board's shard.
        found: u32,
    },
    /// No session, and the board or this end said why.
    #[error("no session: {0}")]
    Refused(Refusal),
    /// The board does not take the key.
    #[error("the board keeps its key: {0}")]
    Kept(RekeyRefusal),
    /// The board was not there for long enough.
    #[error("no answer within {} s ({last}); nothing is lost, run it again", patience.as_secs())]
    Silent {
        /// How long it was waited for.
        patience: Duration,
        /// What was seen last.
        last: String,
    },
    /// The system has no randomness for a session.
    #[error("no session: {0}")]
    System(#[from] io::Error),
}

/// How far a rotation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A session is open, under the key of this generation.
    Session(u32),
    /// The next key is on the disk.
    Prepared,
    /// The next key is on its way to the board.
    Sent,
    /// The board has written it.
    Accepted,
    /// It is the key, and the old one is forgotten.
    Committed,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(generation) => {
                write!(f, "a session under the key of generation {generation}")
            }
            Self::Prepared => f.write_str("the next key is in the list"),
            Self::Sent => f.write_str("the next key is on its way"),
            Self::Accepted => f.write_str("the board holds both keys"),
            Self::Committed => f.write_str("the old key is dropped"),
        }
    }
}

/// Rotates the key of a board at `endpoint` and returns the generation of its new key; `watch` is
/// told of every step.
///
/// # Errors
/// Says why not; the key in the list is then still one that the board holds.
pub async fn rekey(
    book: &KeyStore,
    entry: &Entry,
    endpoint: &Endpoint,
    patience: Duration,
    watch: &mut (dyn FnMut(Step) + Send),
) -> Result<u32, RekeyError> {
    if entry.key.is_none() {
        return Err(RekeyError::Unkeyed);
    }
    let keys = entry.wire_keys();
    let mut ceremony = Ceremony {
        book,
        entry,
        keys,
        peer: Peer::try_new(keys, entry.timing())?,
        refusals: 0,
        watch,
        last: "the line was not opened".to_owned(),
    };
    let rotated = timeout(patience, ceremony.rotate(endpoint)).await;
    rotated.unwrap_or_else(|_| {
        Err(RekeyError::Silent {
            patience,
            last: std::mem::take(&mut ceremony.last),
        })
    })
}

/// A rotation on its way.
struct Ceremony<'a> {
    book: &'a KeyStore,
    entry: &'a Entry,
    /// What the list holds.
    keys: HostKeys,
    peer: Peer,
    refusals: u32,
    watch: &'a mut (dyn FnMut(Step) + Send),
    /// What was seen last, for whoever waits in vain.
    last: String,
}

impl Ceremony<'_> {
    async fn rotate(&mut self, endpoint: &Endpoint) -> Result<u32, RekeyError> {
        let mut attempt = 0;
        loop {
            match endpoint.open(attempt).await {
                Ok(line) => self.peer.plug(line),
                Err(error) => self.last = error.to_string(),
            }
            loop {
                match self.peer.next().await {
                    Ok(event) => {
                        if let Some(generation) = self.hear(event)? {
                            return Ok(generation);
                        }
                    }
                    Err(error) => {
                        if error.kind() != io::ErrorKind::NotConnected {
                            self.last = error.to_string();
                        }
                        break;
                    }
                }
            }
            attempt += 1;
            sleep(REOPEN).await;
        }
    }

    fn say(&mut self, step: Step) {
        self.last = step.to_string();
        (self.watch)(step);
    }

    /// Takes what happened; returns the generation once the new key is the key.
    fn hear(&mut self, event: Event<HostEnd>) -> Result<Option<u32>, RekeyError> {
        let next = self.keys.next_generation();
        match event {
            Event::Connected(greeting) => return self.connected(&greeting),
            Event::Message(DeviceToHost::Rekeyed { generation }) if generation == next => {
                self.say(Step::Accepted);
                self.peer.connect_with(self.keys);
            }
            Event::Message(DeviceToHost::RekeyRefused(reason)) => {
                // Whoever cannot keep a key will never come with it.
                if reason == RekeyRefusal::NoStorage {
                    self.book.discard_next(&self.entry.name)?;
                }
                return Err(RekeyError::Kept(reason));
            }
            Event::Refused(refusal) => {
                self.refusals += 1;
                self.last = refusal.to_string();
                if self.refusals >= REFUSALS {
                    return Err(RekeyError::Refused(refusal));
                }
            }
            // The link connects again by itself.
            Event::Lost(reason) => self.last = reason.to_string(),
            _ => {}
        }
        Ok(None)
    }

    fn connected(&mut self, greeting: &Greeting) -> Result<Option<u32>, RekeyError> {
        let name = &self.entry.name;
        let generation = greeting.generation;
        self.say(Step::Session(generation));
        match greeting.about.shard {
            ShardStatus::Present { client, .. } if client != self.entry.id => {
                return Err(RekeyError::OtherClient { found: client });
            }
            _ => {}
        }
        if self.keys.next.is_some() && generation == self.keys.next_generation() {
            self.book.commit_next(name)?;
            self.say(Step::Committed);
            return Ok(Some(generation));
        }
        self.keys = self.book.prepare_next(name, generation)?;
        self.say(Step::Prepared);
        if let Some(key) = self.keys.next {
            let generation = self.keys.next_generation();
            // A session that has just been opened has room.
            let _ = self.peer.send(HostToDevice::Rekey { generation, key });
            self.say(Step::Sent);
        }
        Ok(None)
    }
}
