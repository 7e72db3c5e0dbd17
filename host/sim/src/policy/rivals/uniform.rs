//! `uniform-ehfl`: C. Shen, J. Yang and J. Xu, "On Federated Learning with Energy Harvesting
//! Clients", ICASSP 2022, arXiv 2202.06105.
//!
//! Their bounds say that it is not the total of participations that counts but the smallest number
//! of clients in any round: scheduling should be uniform over the rounds and as large as the energy
//! sustains. Our reading: the number of clients a round is what all clients' average income, less
//! what they pay without orders, buys at the average bill, rounded down and at least one; so many of
//! those who can pay are drawn, each equally likely, and fewer only where fewer can pay (best
//! effort). The paper runs its experiments with an energy-harvesting scheduler of earlier work that
//! it cites and whose text we did not have; the target above stands in for it.

use super::bids::Bids;
use super::shuffled;
use crate::policy::{BaselinePower, Decision, Policy, PolicyError, View};

/// Schedules a constant number of clients.
#[derive(Clone, Copy, Debug)]
pub struct UniformEhfl {
    /// Transmit power of the clients.
    pub power: BaselinePower,
}

impl Policy for UniformEhfl {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let priced = Bids::whatever_the_price(view, self.power);
        let bids = Bids::payable(view, self.power);
        let clients = shuffled(view, bids.able());
        Ok(bids.seat(&clients, sustained(view, &priced)))
    }
}

/// Returns how many orders a round the income of all clients that could take part pays for.
fn sustained(view: &View<'_>, priced: &Bids) -> usize {
    let bills: Vec<(usize, f64)> = (0..view.instance.clients())
        .filter_map(|client| Some((client, priced.least_bill(client)?)))
        .collect();
    let surplus = |&(client, _): &(usize, f64)| view.budgets[client].surplus_j.max(0.0);
    let income_j: f64 = bills.iter().map(surplus).sum();
    let bill_j = bills.iter().map(|&(_, bill_j)| bill_j).sum::<f64>() / bills.len().max(1) as f64;
    // A quotient that is no number, or beyond all, becomes 0 or the largest; channels bound it.
    ((income_j / bill_j) as usize).max(1)
}
