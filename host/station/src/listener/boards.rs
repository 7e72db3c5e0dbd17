//! The boards that may connect by themselves, and how a greeting identifies one.

use gleaner_sim::ClientId;
use std::net::SocketAddr;
use std::sync::Arc;

use gleaner_shared::wire::link::Claim;
use gleaner_shared::wire::message::{DeviceId, Refusal, Version};
use gleaner_shared::wire::{HostKeys, Key};

use super::ListenError;
use super::counts::Outcome;
use crate::fleet_file::{Entry, FleetFile};
use crate::link::incoming::Incoming;

/// Checks that `--listen` and the links of the fleet agree, and that every board that connects from
/// another machine has a key.
///
/// # Errors
/// Names the boards and what to add.
pub fn check(fleet: &FleetFile, listen: Option<SocketAddr>) -> Result<(), ListenError> {
    let names = |of: &dyn Fn(&Entry) -> bool| {
        let incoming = fleet
            .clients
            .iter()
            .filter(|entry| entry.link.is_incoming());
        let named: Vec<&str> = incoming
            .filter(|entry| of(entry))
            .map(|entry| entry.name.as_str())
            .collect();
        (!named.is_empty()).then(|| named.join(", "))
    };
    match (listen, names(&|_| true)) {
        (None, None) => Ok(()),
        (None, Some(names)) => Err(ListenError::NotListening { names }),
        (Some(address), None) => Err(ListenError::NoIncoming { address }),
        (Some(address), Some(_)) if address.ip().to_canonical().is_loopback() => Ok(()),
        (Some(address), Some(_)) => match names(&|entry| entry.key.is_none()) {
            Some(names) => Err(ListenError::MissingKeys { address, names }),
            None => Ok(()),
        },
    }
}

/// One board that may connect.
#[derive(Debug)]
struct ExpectedBoard {
    client: ClientId,
    /// The key, and the next one during a rotation.
    keys: HostKeys,
    device: Option<DeviceId>,
    line: Incoming,
}

impl ExpectedBoard {
    fn is_identified_by(&self, claim: &Claim<'_>) -> bool {
        // The number is checked first because it costs nothing; the key is the proof.
        let proves = |key: &Key| claim.is_proved_by(key);
        self.device.is_none_or(|device| device == claim.device)
            && (proves(&self.keys.key) || self.keys.next.as_ref().is_some_and(proves))
    }
}

/// All boards that may connect. A greeting is tried with the key of each: anybody can send a
/// number, but not its tag.
#[derive(Clone, Debug)]
pub struct ExpectedBoards(Arc<[ExpectedBoard]>);

impl ExpectedBoards {
    /// Returns the boards of a fleet that connect by themselves.
    #[must_use]
    pub fn of(fleet: &FleetFile) -> Self {
        let incoming = fleet
            .clients
            .iter()
            .filter(|entry| entry.link.is_incoming());
        let board = |entry: &Entry| ExpectedBoard {
            client: entry.id,
            keys: entry.wire_keys(),
            device: entry.link.device().map(|number| number.0),
            line: Incoming::default(),
        };
        Self(incoming.map(board).collect())
    }

    /// Returns how many boards may connect.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the slot for a client's connections, if the client may connect.
    #[must_use]
    pub fn line_of(&self, client: ClientId) -> Option<Incoming> {
        let board = self.0.iter().find(|board| board.client == client)?;
        Some(board.line.clone())
    }

    /// Returns the index of the board that made a greeting, or the outcome to count and the refusal
    /// to send if none did.
    pub(super) fn identify(&self, claim: &Claim<'_>) -> Result<usize, Box<(Outcome, Refusal)>> {
        let (ours, theirs) = (Version::OURS, claim.version);
        let mut boards = self.0.iter();
        let refusal = match boards.position(|board| board.is_identified_by(claim)) {
            Some(at) if theirs == ours => return Ok(at),
            Some(_) => (Outcome::OtherVersion, Refusal::Version { ours, theirs }),
            // All others get the same refusal, which does not reveal the known keys.
            None if claim.is_proved_by(&Key::PUBLIC) => {
                (Outcome::NoKey(claim.device), Refusal::UnknownDevice)
            }
            None => (Outcome::UnknownKey(claim.device), Refusal::UnknownDevice),
        };
        Err(Box::new(refusal))
    }

    /// Returns the client of an identified board, and the slot for its connections.
    pub(super) fn line_at(&self, at: usize) -> Option<(ClientId, &Incoming)> {
        self.0.get(at).map(|board| (board.client, &board.line))
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
            ..FleetFile::default()
        }
    }

    fn at(address: &str) -> Option<SocketAddr> {
        Some(address.parse().unwrap())
    }

    #[test]
    fn boards_without_a_key_may_connect_from_this_machine_only() {
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
            let refused = check(&fleet(), at(open));
            assert!(
                matches!(refused, Err(ListenError::MissingKeys { names, .. }) if names == "bare")
            );
        }
        let mut keyed = fleet();
        keyed.clients.remove(1);
        check(&keyed, at("0.0.0.0:7")).unwrap();
    }

    #[test]
    fn listening_and_incoming_links_need_each_other() {
        let refused = check(&fleet(), None);
        assert!(
            matches!(refused, Err(ListenError::NotListening { names }) if names == "keyed, bare")
        );
        let mut simulated = fleet();
        simulated.clients.drain(..2);
        check(&simulated, None).unwrap();
        let refused = check(&simulated, at("127.0.0.1:7"));
        assert!(matches!(refused, Err(ListenError::NoIncoming { .. })));
    }
}
