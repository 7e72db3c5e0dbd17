//! `ocean`: J. Xu and H. Wang, "Client Selection and Bandwidth Allocation in Wireless Federated
//! Learning Networks: A Long-Term Perspective", IEEE Transactions on Wireless Communications 20(2),
//! 2021, arXiv 2004.04314.
//!
//! Every client has a budget for the whole run. Its energy-deficit queue grows by what it spends and
//! falls by its budget's share of a round, q' = max(q + E - H / T, 0). A round is decided without
//! regard to later ones by maximising V eta_t |S| - sum over S of q_k E_k: as many clients as
//! possible, none whose queue makes it too dear.
//!
//! Our reading: H / T is what an average round leaves the client for orders, and E_k what an order
//! costs it. The paper divides one band among the selected; here a client has one channel of fixed
//! width, so a round is the assignment of channels that makes the sum of V - q_k E_kc largest,
//! solved exactly. The weights eta_t of the rounds are all one (the paper's OCEAN-u; its ascending
//! weights need the number of rounds in advance), queues are not reset, and V is the square of the
//! round's mean bill, so that a client is passed over once it is about one order in deficit. OCEAN
//! looks at budgets, not at what is in a store: a client that cannot pay declines.

use super::bids::Bids;
use crate::policy::{BaselinePower, Decision, Policy, PolicyError, View};
use gleaner_cre::optim::heaviest_assignment;

/// Of equal sums the cheaper is taken: the share of V that the mean bill counts beside the queues.
const TIE: f64 = 1e-6;

/// Scheduling by energy-deficit queues.
#[derive(Clone, Copy, Debug)]
pub struct Ocean {
    /// Transmit power of the clients.
    pub power: BaselinePower,
}

impl Policy for Ocean {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let bids = Bids::whatever_the_price(view, self.power);
        let clients = bids.able();
        let bills = clients.iter().filter_map(|&client| bids.least_bill(client));
        let mean_j = bills.sum::<f64>() / clients.len().max(1) as f64;
        let worth = |client: usize, channel: usize| {
            // In units of V: the deficit and the bill over the mean bill.
            let bill = match mean_j > 0.0 {
                true => bids.at(client, channel)?.bill_j / mean_j,
                false => 0.0,
            };
            let deficit = view.attendance[client].deficit_j() / mean_j.max(f64::MIN_POSITIVE);
            Some(1.0 - (deficit + TIE) * bill).filter(|&worth| worth > 0.0)
        };
        let table: Vec<Vec<Option<f64>>> = (0..view.instance.channels)
            .map(|channel| {
                let column = clients.iter().map(|&client| worth(client, channel));
                column.collect()
            })
            .collect();
        let seats = heaviest_assignment(&table).into_iter().enumerate();
        let pairs = seats.filter_map(|(channel, seat)| Some((clients[seat?], channel)));
        Ok(bids.decision(pairs.collect()))
    }
}
