//! What a board is provisioned with, and what it must hold.

use gleaner_shared::board::Shape;
use gleaner_shared::energy::{CostModel, Reservoir};
use gleaner_shared::wire::message::{About, Provision, RunId, ShardStatus};

use crate::board::{ConfirmedState, Identity};

/// The part of a board's identity that the state machine needs: all but its line.
#[derive(Clone, Debug)]
pub(in crate::board) struct Profile {
    pub(super) client: u32,
    run: RunId,
    seed: u64,
    pub(super) store: Reservoir,
    pub(super) cost: CostModel,
    network: Shape,
    /// Checksum of the shard that the board must hold; `None` accepts any.
    shard_crc: Option<u32>,
}

impl From<&Identity> for Profile {
    fn from(identity: &Identity) -> Self {
        Self {
            client: identity.client,
            run: identity.run,
            seed: identity.seed,
            store: identity.store,
            cost: identity.cost,
            network: identity.network,
            shard_crc: identity.shard_crc,
        }
    }
}

impl Profile {
    /// Returns the message that makes the board this client, in its confirmed state.
    pub(super) const fn provision(&self, confirmed: &ConfirmedState) -> Provision {
        Provision {
            run: self.run,
            client: self.client,
            seed: self.seed,
            store: self.store,
            cost: self.cost,
            ledger: confirmed.ledger,
            last_round: confirmed.last_round,
        }
    }

    /// Returns why the board cannot work in this run with a model of `model` bytes, if it cannot.
    pub(super) fn unfit(&self, about: &About, model: usize) -> Option<String> {
        let (found, room) = (about.shape, about.largest_transfer);
        let (found, ours) = (found.sizes(), self.network);
        if found != ours {
            return Some(format!(
                "it was built for a network {found}, this run's is {ours}: `gleaner flash` builds and \
                 writes that"
            ));
        }
        if (room as usize) < model {
            return Some(format!(
                "it takes transfers of {room} bytes at most, the model has {model}"
            ));
        }
        self.wrong_shard(about)
    }

    /// Returns what is wrong with the board's shard, if anything is.
    fn wrong_shard(&self, about: &About) -> Option<String> {
        let client = self.client;
        match about.shard {
            ShardStatus::Absent => Some("it has no shard: flash one".to_owned()),
            ShardStatus::Damaged => Some("its shard is damaged: flash it again".to_owned()),
            ShardStatus::Present { client: found, .. } if found != client => Some(format!(
                "it holds the shard of client {found}, not {client}"
            )),
            ShardStatus::Present { crc, .. } => match self.shard_crc {
                Some(expected) if expected != crc => Some(format!(
                    "its shard has checksum {crc:08x}, this run's has {expected:08x}: flash it"
                )),
                _ => None,
            },
        }
    }
}
