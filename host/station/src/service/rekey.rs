//! Rotates the key of a board: the next key is on the disk before it is sent, sealed, and becomes
//! the key when a session under it is open.
//!
//! An interrupted rotation is run again: it continues from the keys that the fleet file and the
//! board hold. `docs/reference/wire.md` has the steps.

use std::fmt;
use std::time::Duration;

use gleaner_shared::wire::HostKeys;
use gleaner_shared::wire::link::{Event, Greeting, HostEnd};
use gleaner_shared::wire::message::{DeviceToHost, HostToDevice, RekeyRefusal};

use super::{Service, ServiceError, Session, unasked};
use crate::fleet_file::{Entry, KeyStore};
use crate::link::Endpoint;

/// A step of a rotation, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A session is open, under the key of this generation.
    Session(u32),
    /// The next key is on the disk.
    Prepared,
    /// The next key is on its way to the board.
    Sent,
    /// The board has written the next key.
    Accepted,
    /// The next key is the key, and the old one is forgotten.
    Committed,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(generation) => {
                write!(f, "a session under the key of generation {generation}")
            }
            Self::Prepared => f.write_str("the next key is in fleet.toml"),
            Self::Sent => f.write_str("the next key is sent"),
            Self::Accepted => f.write_str("the board holds both keys"),
            Self::Committed => f.write_str("the old key is deleted"),
        }
    }
}

/// Rotates the key of the board at `endpoint` and returns the generation of its new key; `watch` is
/// called at every step.
///
/// # Errors
/// Returns the reason; the key in the fleet file is then still one that the board holds.
pub async fn rekey(
    keys: &KeyStore,
    entry: &Entry,
    endpoint: &Endpoint,
    patience: Duration,
    watch: &mut (dyn FnMut(Step) + Send),
) -> Result<u32, ServiceError> {
    if entry.key.is_none() {
        return Err(ServiceError::Unkeyed);
    }
    let mut rotation = Rotation {
        store: keys,
        keys: entry.wire_keys(),
        asked: false,
        watch,
    };
    let mut session = Session::try_new(entry)?;
    session.run(endpoint, patience, &mut rotation).await
}

struct Rotation<'a> {
    store: &'a KeyStore,
    /// The keys in the fleet file.
    keys: HostKeys,
    /// Whether the next key was sent in this session and is not answered.
    asked: bool,
    watch: &'a mut (dyn FnMut(Step) + Send),
}

impl Service for Rotation<'_> {
    type Output = u32;

    fn handle(
        &mut self,
        session: &mut Session<'_>,
        event: Event<HostEnd>,
    ) -> Result<Option<u32>, ServiceError> {
        match event {
            Event::Connected(greeting) => return self.connected(session, &greeting),
            Event::Message(
                message @ (DeviceToHost::Rekeyed { .. } | DeviceToHost::RekeyRefused(_)),
            ) => {
                if !std::mem::take(&mut self.asked) || !session.peer.is_said() {
                    return Err(unasked(&message));
                }
                self.answered(session, &message)?;
            }
            _ => {}
        }
        Ok(None)
    }
}

impl Rotation<'_> {
    fn report(&mut self, session: &mut Session<'_>, step: Step) {
        session.last = step.to_string();
        (self.watch)(step);
    }

    fn answered(
        &mut self,
        session: &mut Session<'_>,
        message: &DeviceToHost,
    ) -> Result<(), ServiceError> {
        match *message {
            DeviceToHost::Rekeyed { generation } if generation == self.keys.next_generation() => {
                self.report(session, Step::Accepted);
                session.peer.connect_with(self.keys);
                Ok(())
            }
            DeviceToHost::RekeyRefused(reason) => {
                // A board without storage for keys will never use the next one.
                if reason == RekeyRefusal::NoStorage {
                    self.store.discard_next(&session.entry.name)?;
                }
                Err(ServiceError::KeyRefused(reason))
            }
            _ => Err(unasked(message)),
        }
    }

    fn connected(
        &mut self,
        session: &mut Session<'_>,
        greeting: &Greeting,
    ) -> Result<Option<u32>, ServiceError> {
        self.asked = false;
        let name = &session.entry.name;
        let generation = greeting.generation;
        self.report(session, Step::Session(generation));
        if self.keys.next.is_some() && generation == self.keys.next_generation() {
            self.store.commit_next(name)?;
            self.report(session, Step::Committed);
            return Ok(Some(generation));
        }
        self.keys = self.store.prepare_next(name, generation)?;
        self.report(session, Step::Prepared);
        if let Some(key) = self.keys.next {
            let generation = self.keys.next_generation();
            // The queue of a new session has room.
            let _ = session.peer.send(HostToDevice::Rekey { generation, key });
            self.asked = true;
            self.report(session, Step::Sent);
        }
        Ok(None)
    }
}
