//! Checks of messages and transfers, one function each.

use gleaner_shared::energy::Snapshot;
use gleaner_shared::units::PicoJoules;
use gleaner_shared::wire::message::{
    About, Offer, Order, Payload, Progress, RejectReason, Report, ShardStatus, WorkMark,
};

use super::state::Work;

/// Tells whether progress belongs to this work and is within the order.
pub(super) fn is_of(progress: &Progress, work: &Work) -> bool {
    progress.work == work.mark && progress.epoch <= work.job.order.epochs
}

/// Tells whether a board may have this ledger: it is consistent, fits the store, and has the income
/// of at most one round that is not closed yet.
pub(super) const fn is_possible(
    found: &Snapshot,
    confirmed: &Snapshot,
    storage: PicoJoules,
) -> bool {
    found.is_consistent()
        && found.stored.0 <= storage.0
        && found.rounds <= confirmed.rounds.saturating_add(1)
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
