//! `fedbacys` and `fedbacys-odd`: E. Jeong and N. Pappas, "Battery-aware Cyclic Scheduling in
//! Energy-harvesting Federated Learning", arXiv 2504.12181, and "Computation-aware Energy-harvesting
//! Federated Learning: Cyclic Scheduling with Selective Participation", arXiv 2511.11949.
//!
//! Clients are put into groups by what is left in their batteries, and the groups have their turns
//! one after the other: a client trains just before its group's time to transmit and saves energy
//! until then, the rich first, so that the poor can charge meanwhile. It trains and sends only with
//! the energy for both. In the variant `odd` a client that could take part does so only at every
//! other of its chances, the first, the third and so on.
//!
//! Our reading: a turn is as many rounds as give everybody a channel once, a group is as many
//! clients as there are channels, and the groups are formed anew at the start of every turn. In the
//! paper the groups of a turn add up to one step of the server; here every round is one. A chance is
//! a round of the client's group in which it can pay.

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
