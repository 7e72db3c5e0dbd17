//! What a message or a transfer must fit before it is heard: one question each, so that another
//! check is added in one place.

use gleaner_shared::energy::Snapshot;
use gleaner_shared::units::PicoJoules;
use gleaner_shared::wire::message::{
    About, Offer, Order, Payload, Progress, RejectReason, Report, ShardStatus, WorkMark,
};

use super::state::Work;

/// Tells whether progress is about this work, and no more than was ordered.
pub(super) fn is_of(progress: &Progress, work: &Work) -> bool {
    progress.work == work.mark && progress.epoch <= work.job.order.epochs
}

/// Tells whether a board may have this ledger: it adds up, its store holds as much, and it has the
/// income of one round at most that is not closed yet.
pub(super) const fn is_possible(
    found: &Snapshot,
    confirmed: &Snapshot,
    storage: PicoJoules,
) -> bool {
    found.is_consistent()
        && found.stored.0 <= storage.0
        && found.rounds <= confirmed.rounds.saturating_add(1)
}

/// Says what in a report contradicts the order or what the board said of itself. Its losses are
/// weighed by the engine, against those of the others.
pub(super) fn doubt(report: &Report, order: &Order, about: &About) -> Option<String> {
    let (epochs, ordered) = (report.epochs, order.epochs);
    if epochs > ordered || (report.trained && epochs != ordered) {
        return Some(format!("{epochs} epochs trained, {ordered} ordered"));
    }
    if let ShardStatus::Present { samples, .. } = about.shard
        && samples != report.samples
        // Who says that it cannot be recomputed may have gathered more.
        && (about.exact || report.samples < samples)
    {
        let trained = report.samples;
        return Some(format!(
            "{trained} samples trained, its shard has {samples}"
        ));
    }
    None
}

/// The one transfer that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    /// What its bytes are.
    pub(super) payload: Payload,
    /// The work it is the result of.
    pub(super) work: Option<WorkMark>,
    /// Its bytes.
    pub(super) len: usize,
}

impl Expected {
    /// Tells whether the transfer is the one that is waited for, whatever its bytes.
    pub(super) fn is_it(&self, offer: &Offer) -> bool {
        (offer.payload, offer.work) == (self.payload, self.work)
    }

    /// Returns the bytes to make room for.
    ///
    /// # Errors
    /// Why the transfer is not wanted.
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
