//! Checks of messages and transfers, and of what a board must be and hold.

use gleaner_shared::board::Shape;
use gleaner_shared::mlp::UploadCode;
use gleaner_shared::wire::message::{
    About, Offer, Order, Payload, Progress, Provision, RejectReason, Report, RunId, ShardStatus,
    WorkMark,
};

use super::state::Work;
use crate::board::Identity;
use crate::board::booking::Booking;
use crate::board::bounds::Bounds;

/// The most samples of any board: a flash of a gigabyte holds as many of a kilobyte.
const MOST_SAMPLES: u32 = 1 << 20;

/// The most cycles of a sample in an epoch, some 100,000 times those of the boards' own network.
const MOST_CYCLES_PER_SAMPLE: u64 = 1_000_000_000;

/// The part of a board's identity that the state machine needs: all but its line.
#[derive(Clone, Debug)]
pub(in crate::board) struct Profile {
    pub(super) client: u32,
    run: RunId,
    seed: u64,
    pub(super) bounds: Bounds,
    network: Shape,
    /// Checksum of the shard that the board must hold; `None` accepts any.
    shard_crc: Option<u32>,
}

impl From<&Identity> for Profile {
    fn from(identity: &Identity) -> Self {
        Self {
            client: identity.client.0,
            run: identity.run,
            seed: identity.seed,
            bounds: Bounds {
                store: identity.store,
                cost: identity.cost,
                pace: identity.pace,
            },
            network: identity.network,
            shard_crc: identity.shard_crc,
        }
    }
}

impl Profile {
    /// Returns the message that makes the board this client, in its confirmed state.
    pub(super) const fn provision(&self, booking: &Booking) -> Provision {
        let confirmed = booking.confirmed();
        Provision {
            run: self.run,
            client: self.client,
            seed: self.seed,
            store: self.bounds.store,
            cost: self.bounds.cost,
            pace: self.bounds.pace,
            ledger: confirmed.ledger,
            last_round: confirmed.last_round,
            adopt: booking.is_refused(),
        }
    }

    /// Returns why the board cannot work in this run with a model of `model` bytes and uploads in this
    /// code, if it cannot.
    pub(super) fn unfit(&self, about: &About, model: usize, code: UploadCode) -> Option<String> {
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
        if about.codes & code.bit() == 0 {
            let all = UploadCode::ALL.into_iter();
            let can: Vec<&str> = all
                .filter(|it| about.codes & it.bit() != 0)
                .map(UploadCode::name)
                .collect();
            return Some(format!(
                "it cannot code uploads as {code}: set upload.code to one of {}",
                can.join(", ")
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

/// Tells whether progress belongs to this work and is within the order.
pub(super) fn is_of(progress: &Progress, work: &Work) -> bool {
    progress.work == work.mark && progress.epoch <= work.job.order.epochs
}

/// Returns a contradiction between a report and its order or the board's greeting, if there is one.
/// The engine compares the losses with those of other clients.
pub(super) fn anomaly(report: &Report, order: &Order, about: &About) -> Option<String> {
    let (epochs, ordered) = (report.epochs, order.epochs);
    if epochs > ordered || (report.trained && epochs != ordered) {
        return Some(format!("{epochs} epochs trained, {ordered} ordered"));
    }
    if let ShardStatus::Present { samples, .. } = about.shard
        && samples != report.samples
        // A board whose updates cannot be replayed may have gathered more.
        && (about.exact || report.samples < samples)
    {
        let trained = report.samples;
        return Some(format!(
            "{trained} samples trained, its shard has {samples}"
        ));
    }
    if report.samples > MOST_SAMPLES {
        let trained = report.samples;
        return Some(format!(
            "{trained} samples trained, no board holds more than {MOST_SAMPLES}"
        ));
    }
    // An epoch that ran out of energy is not counted.
    let steps = u64::from(report.samples) * (u64::from(epochs) + 1);
    let most = steps.saturating_mul(MOST_CYCLES_PER_SAMPLE);
    if report.cycles.0 > most {
        let cycles = report.cycles.0;
        return Some(format!(
            "{cycles} cycles for {epochs} epochs, more than {most}"
        ));
    }
    None
}

/// The transfer that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) payload: Payload,
    pub(super) work: Option<WorkMark>,
    pub(super) len: usize,
}

impl Expected {
    /// Tells whether the transfer is the expected one, whatever its length.
    pub(super) fn is_it(&self, offer: &Offer) -> bool {
        (offer.payload, offer.work) == (self.payload, self.work)
    }

    /// Returns the bytes to make room for.
    ///
    /// # Errors
    /// Returns the reason to reject the transfer.
    pub(super) fn admit(&self, offer: &Offer) -> Result<usize, RejectReason> {
        if !self.is_it(offer) {
            return Err(RejectReason::Unexpected);
        }
        if offer.len as usize != self.len {
            return Err(RejectReason::TooLarge);
        }
        Ok(self.len)
    }
}
