//! `greedy`: greedy if affordable, the benchmark that every paper on energy harvesting has.
//!
//! Whoever can pay for an order takes part as soon as it can. With more of them than channels, who
//! gets one is drawn; the papers have no channels to run out of, so the draw is our choice.

use super::bids::Bids;
use super::shuffled;
use crate::policy::{BaselinePower, Decision, Policy, PolicyError, View};

/// Draws participants from the clients that can pay.
#[derive(Clone, Copy, Debug)]
pub struct Greedy {
    /// Transmit power of the clients.
    pub power: BaselinePower,
}

impl Policy for Greedy {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let bids = Bids::payable(view, self.power);
        Ok(bids.seat(&shuffled(view, bids.able()), usize::MAX))
    }
}
