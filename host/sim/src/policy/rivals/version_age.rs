//! `version-age`: E. Jeong, G. Perin, H. H. Yang and N. Pappas, "Feature-Based Semantics-Aware
//! Scheduling for Energy-Harvesting Federated Learning", arXiv 2512.01983.
//!
//! The version age of information of client i is 0 after a round it took part in and grows by one
//! with every new model that came about without it, if that model is a significant one for the
//! client; those of the largest age are scheduled.
//!
//! Our reading: every new model is significant. The paper asks each client in every round how far
//! features of its own data moved under the new model and lets the age grow only past a threshold;
//! that is a report from every client in every round, which the protocol here does not have and the
//! clients would have to pay for, so the threshold is 0, the version age without the feature proxy.
//! Only those who can pay are scheduled (a client that cannot would hold a channel for nothing), and
//! equal ages are drawn.

use super::bids::Bids;
use super::shuffled;
use crate::policy::{BaselinePower, Decision, Policy, PolicyError, View};

/// Scheduling by version age.
#[derive(Clone, Copy, Debug)]
pub struct VersionAge {
    /// Transmit power of the clients.
    pub power: BaselinePower,
}

impl Policy for VersionAge {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let bids = Bids::payable(view, self.power);
        let mut clients = shuffled(view, bids.able());
        // The sort is stable: among equals the draw stays.
        clients.sort_by_key(|&client| std::cmp::Reverse(view.attendance[client].versions()));
        Ok(bids.seat(&clients, usize::MAX))
    }
}
