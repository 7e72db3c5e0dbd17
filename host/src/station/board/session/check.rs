//! What a message or a transfer must fit before it is heard: one question each, so that another
//! check is added in one place.

use gleaner_shared::energy::Snapshot;
use gleaner_shared::units::PicoJoules;
use gleaner_shared::wire::message::{
    About, Offer, Order, Payload, Progress, RejectReason, Report, ShardStatus, WorkMark,
};

use super::state::Work;
use crate::station::event::loss;

/// A mean loss no network of ours comes near: guessing among ten classes has 2.3.
const LARGEST_LOSS: f64 = 100.0;

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

/// Says what in a report cannot be, by the order and by what the board said of itself.
pub(super) fn doubt(report: &Report, order: &Order, about: &About) -> Option<String> {
    let (epochs, ordered) = (report.epochs, order.epochs);
    if epochs > ordered || (report.trained && epochs != ordered) {
        return Some(format!("{epochs} epochs trained, {ordered} ordered"));
    }
    if let ShardStatus::Present { samples, .. } = about.shard
        && samples != report.samples
    {
        let trained = report.samples;
        return Some(format!(
            "{trained} samples trained, its shard has {samples}"
        ));
    }
    let losses = [report.loss_before_q16, report.loss_after_q16].map(loss);
    let absurd = losses.into_iter().find(|loss| *loss > LARGEST_LOSS)?;
    Some(format!("a mean loss of {absurd:.0}"))
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
