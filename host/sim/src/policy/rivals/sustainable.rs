//! `sustainable`: B. Guler and A. Yener, "A Framework for Sustainable Federated Learning", WiOpt
//! 2021; "Sustainable Federated Learning", arXiv 2102.11274.
//!
//! Client i has an energy renewal cycle of E_i rounds: that is how long it takes to earn one
//! participation. At the start of every cycle it draws one of the E_i rounds, each equally likely,
//! takes part in that round and in no other of the cycle. So the clients spread out over the rounds
//! instead of all answering when their energy arrives.
//!
//! Our reading: E_i is what an order costs on the cheapest channel at the start of the cycle over
//! what an average round leaves for orders, rounded up. In the paper the energy is there when the
//! cycle begins; from a panel it may not be, and a client that cannot pay in its round lets it pass.
//! Among more clients than channels those that get one are drawn. The paper scales client i's update
//! by E_i so that frequent clients do not outweigh rare ones; how updates become a model is the
//! server's business here and the same for all, so that factor is not applied.

use gleaner_shared::rng::{Purpose, Rng};

use super::bids::Bids;
use super::shuffled;
use crate::ClientId;
use crate::policy::{BaselinePower, Decision, Note, Policy, PolicyError, View};

/// Scheduling by renewal cycles.
#[derive(Clone, Copy, Debug)]
pub struct Sustainable {
    /// Transmit power of the clients.
    pub power: BaselinePower,
}

impl Policy for Sustainable {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let priced = Bids::whatever_the_price(view, self.power);
        let bids = Bids::payable(view, self.power);
        let (mut due, mut notes) = (Vec::new(), Vec::new());
        for client in 0..view.instance.clients() {
            let running = view.attendance[client].cycle(view.round);
            let Some((from, rounds)) = running.or_else(|| {
                let rounds = renewal(priced.least_bill(client)?, view.budgets[client].surplus_j)?;
                notes.push(Note::Renewed {
                    client: ClientId::at(client),
                    rounds,
                });
                Some((view.round, rounds))
            }) else {
                continue;
            };
            let drawn =
                Rng::stream(view.seed, Purpose::Schedule, client as u32, from).below(rounds);
            if view.round == from.saturating_add(drawn) && bids.least_bill(client).is_some() {
                due.push(client);
            }
        }
        let decision = bids.seat(&shuffled(view, due), usize::MAX);
        Ok(Decision { notes, ..decision })
    }
}

/// Returns E_i; `None` for a client that never earns an order.
fn renewal(bill_j: f64, surplus_j: f64) -> Option<u32> {
    let rounds = (bill_j / surplus_j).ceil();
    (surplus_j > 0.0 && rounds < f64::from(u32::MAX)).then_some((rounds as u32).max(1))
}
