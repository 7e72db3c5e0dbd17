//! The boards that may call in, and how their greetings tell which one it is.

use gleaner_sim::ClientId;
use std::net::SocketAddr;
use std::sync::Arc;

use gleaner_shared::wire::link::Claim;
use gleaner_shared::wire::message::{DeviceId, Refusal, Version};
use gleaner_shared::wire::{HostKeys, Key};

use super::DoorError;
use super::calls::Outcome;
use crate::fleet_file::{Entry, FleetFile};
use crate::link::incoming::Incoming;

/// Makes sure that boards which call in are heard, and that whoever is heard can be told from
/// strangers.
///
/// # Errors
/// Names the boards and what to add.
pub fn check(fleet: &FleetFile, listen: Option<SocketAddr>) -> Result<(), DoorError> {
    let names = |of: &dyn Fn(&Entry) -> bool| {
        let callers = fleet
            .clients
            .iter()
            .filter(|entry| entry.link.is_incoming());
        let named: Vec<&str> = callers
            .filter(|entry| of(entry))
            .map(|entry| entry.name.as_str())
            .collect();
        (!named.is_empty()).then(|| named.join(", "))
    };
    match (listen, names(&|_| true)) {
        (None, None) => Ok(()),
        (None, Some(names)) => Err(DoorError::Unheard { names }),
        (Some(address), None) => Err(DoorError::NobodyCalls { address }),
        (Some(address), Some(_)) if address.ip().to_canonical().is_loopback() => Ok(()),
        (Some(address), Some(_)) => match names(&|entry| entry.key.is_none()) {
            Some(names) => Err(DoorError::Open { address, names }),
            None => Ok(()),
        },
    }
}

/// One board that may call in.
#[derive(Debug)]
struct Caller {
    client: ClientId,
    /// Its key, and the next one while it is being handed over.
    keys: HostKeys,
    device: Option<DeviceId>,
    line: Incoming,
}

impl Caller {
    fn made(&self, claim: &Claim<'_>) -> bool {
        // The number is a claim that costs nothing to check first; the key is the proof.
        let proves = |key: &Key| claim.is_proved_by(key);
        self.device.is_none_or(|device| device == claim.device)
            && (proves(&self.keys.key) || self.keys.next.as_ref().is_some_and(proves))
    }
}

/// All boards that may call in. A greeting is tried with the key of each: its number may be
/// anybody's, its tag may not.
#[derive(Clone, Debug)]
pub struct Callers(Arc<[Caller]>);

impl Callers {
    /// Gathers the boards of a fleet that call in.
    #[must_use]
    pub fn of(fleet: &FleetFile) -> Self {
        let callers = fleet
            .clients
            .iter()
            .filter(|entry| entry.link.is_incoming());
        let caller = |entry: &Entry| Caller {
            client: entry.id,
            keys: entry.wire_keys(),
            device: entry.link.device().map(|number| number.0),
            line: Incoming::default(),
        };
        Self(callers.map(caller).collect())
    }

    /// Returns how many boards may call in.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns where a client's lines arrive, if it may call in.
    #[must_use]
    pub fn line_of(&self, client: ClientId) -> Option<Incoming> {
        let caller = self.0.iter().find(|caller| caller.client == client)?;
        Some(caller.line.clone())
    }

    /// Returns whose greeting it is by its place among the callers, or what to count and to say of
    /// one that is nobody's.
    pub(super) fn judge(&self, claim: &Claim<'_>) -> Result<usize, (Outcome, Refusal)> {
        let (ours, theirs) = (Version::OURS, claim.version);
        match self.0.iter().position(|caller| caller.made(claim)) {
            Some(at) if theirs == ours => Ok(at),
            Some(_) => Err((Outcome::OtherVersion, Refusal::Version { ours, theirs })),
            // All others are told the same: which keys there are is nobody's business.
            None if claim.is_proved_by(&Key::PUBLIC) => {
                Err((Outcome::Keyless(claim.device), Refusal::UnknownDevice))
            }
            None => Err((Outcome::Stranger(claim.device), Refusal::UnknownDevice)),
        }
    }

    /// Returns where the lines of a board arrive that was found.
    pub(super) fn line_at(&self, at: usize) -> Option<&Incoming> {
        self.0.get(at).map(|caller| &caller.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet_file::{ChipNumber, Link, SecretKey};

    fn fleet() -> FleetFile {
        let mut keyed = Entry::new("keyed", 0, Link::Incoming { device: None });
        keyed.key = Some(SecretKey([7; 32]));
        let device = Some(ChipNumber(DeviceId([1; 12])));
        let bare = Entry::new("bare", 1, Link::Incoming { device });
        let simulated = Entry::new("spare", 2, Link::Simulated);
        FleetFile {
            clients: vec![keyed, bare, simulated],
        }
    }

    fn at(address: &str) -> Option<SocketAddr> {
        Some(address.parse().unwrap())
    }

    #[test]
    fn boards_without_a_key_are_heard_on_this_machine_alone() {
        for loopback in [
            "127.0.0.1:0",
            "127.3.2.1:7",
            "[::1]:7",
            "[::ffff:127.0.0.1]:7",
        ] {
            check(&fleet(), at(loopback)).unwrap();
        }
        for open in [
            "0.0.0.0:7",
            "[::]:7",
            "192.168.1.2:7",
            "[::ffff:10.0.0.1]:7",
        ] {
            let refused = check(&fleet(), at(open)).unwrap_err().to_string();
            assert!(
                refused.contains("without one: bare.") && refused.contains(open),
                "{refused}"
            );
            assert!(!refused.contains("keyed"), "{refused}");
        }
        let mut keyed = fleet();
        keyed.clients.remove(1);
        check(&keyed, at("0.0.0.0:7")).unwrap();
    }

    #[test]
    fn nobody_calls_in_vain_and_nobody_listens_in_vain() {
        let unheard = check(&fleet(), None).unwrap_err().to_string();
        assert!(
            unheard.contains("keyed, bare") && unheard.contains("--listen"),
            "{unheard}"
        );
        let mut still = fleet();
        still.clients.drain(..2);
        check(&still, None).unwrap();
        let vain = check(&still, at("127.0.0.1:7")).unwrap_err().to_string();
        assert!(
            vain.contains("link = \"incoming\"") && vain.contains("key"),
            "{vain}"
        );
    }
}
