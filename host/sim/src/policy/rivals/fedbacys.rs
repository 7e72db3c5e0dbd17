//! `fedbacys` and `fedbacys-odd`: E. Jeong and N. Pappas, "Battery-aware Cyclic Scheduling in
//! Energy-harvesting Federated Learning", arXiv 2504.12181, and "Computation-aware Energy-harvesting
//! Federated Learning: Cyclic Scheduling with Selective Participation", arXiv 2511.11949.
//!
//! Clients form groups by their stored energy, and the groups take turns, the one with the most stored
//! energy first, so that the others can charge meanwhile. A client trains just before its group
//! transmits, and only if it can pay for training and upload. In the variant `odd` a client
//! participates only at its odd chances: the first, the third and so on.
//!
//! Our reading: a cycle has as many rounds as give every client a channel once, a group has as many
//! clients as there are channels, and groups are formed again at the start of every cycle. In the
//! paper the groups of a cycle together make one server step; here every round is one. A chance is
//! a round of the client's group in which the client can pay.

use super::bids::Bids;
use crate::ClientId;
use crate::policy::{BaselinePower, Decision, Note, Policy, PolicyError, View, turn_rounds};

/// Cyclic scheduling of groups by battery.
#[derive(Clone, Copy, Debug)]
pub struct FedBacys {
    /// Transmit power of the clients.
    pub power: BaselinePower,
    /// Whether clients take only their odd chances.
    pub odd: bool,
}

impl Policy for FedBacys {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let bids = Bids::payable(view, self.power);
        let channels = view.instance.channels;
        let turn = turn_rounds(view.instance.clients(), channels);
        let group = (view.round.saturating_sub(1) % turn) as usize;
        let mut members = bids.able();
        members
            .retain(|&client| view.attendance[client].place() as usize / channels.max(1) == group);
        let wanted =
            |client: &usize| !self.odd || view.attendance[*client].chances().is_multiple_of(2);
        let (wanted, passed): (Vec<usize>, Vec<usize>) = members.into_iter().partition(wanted);
        let notes = passed.into_iter().map(|client| Note::Passed {
            client: ClientId::at(client),
        });
        Ok(Decision {
            notes: notes.collect(),
            ..bids.seat(&wanted, usize::MAX)
        })
    }
}
