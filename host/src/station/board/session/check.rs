//! What a message or a transfer must fit before it is heard: one question each, so that another
//! check is added in one place.

use gleaner_shared::wire::message::{
    Offer, Order, OrderReply, Payload, Progress, RejectReason, Report,
};

/// Tells whether a reply is about this order.
pub(super) const fn answers(reply: &OrderReply, order: &Order) -> bool {
    reply.round == order.round
}

/// Tells whether a report is about this order.
pub(super) const fn reports(report: &Report, order: &Order) -> bool {
    report.round == order.round
}

/// Tells whether progress is about the round that is worked on.
pub(super) fn is_of(progress: &Progress, round: Option<u32>) -> bool {
    Some(progress.round) == round
}

/// The one transfer that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    /// What its bytes are.
    pub(super) payload: Payload,
    /// The round it belongs to.
    pub(super) round: u32,
    /// Its bytes.
    pub(super) len: usize,
}

impl Expected {
    /// Returns the bytes to make room for.
    ///
    /// # Errors
    /// Why the transfer is not wanted.
    pub(super) fn admit(&self, offer: &Offer) -> Result<usize, RejectReason> {
        if (offer.payload, offer.round) != (self.payload, self.round) {
            return Err(RejectReason::Unexpected);
        }
        if offer.len as usize != self.len {
            return Err(RejectReason::TooLarge);
        }
        Ok(self.len)
    }
}
