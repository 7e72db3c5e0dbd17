//! Cost of each client on each channel, and the assignment of channels to those chosen.

use crate::ClientId;
use crate::policy::baseline::{BaselinePower, upload};
use crate::policy::offer::{Offer, least_bill};
use crate::policy::{Decision, Order, View};
use gleaner_cre::optim::heaviest_assignment;

/// Local epochs of every rival.
pub(super) const EPOCHS: u32 = 1;

/// The offers of a round, by client and channel.
pub(super) struct Bids {
    offers: Vec<Vec<Option<Offer>>>,
    channels: usize,
}

impl Bids {
    /// Collects the offers of clients that meet the deadline and can pay.
    pub(super) fn payable(view: &View<'_>, power: BaselinePower) -> Self {
        let mut bids = Self::whatever_the_price(view, power);
        for (client, row) in bids.offers.iter_mut().enumerate() {
            for offer in row {
                *offer = offer.and_then(|offer| offer.payable(view, client));
            }
        }
        bids
    }

    /// Collects the offers of all clients that meet the deadline.
    pub(super) fn whatever_the_price(view: &View<'_>, power: BaselinePower) -> Self {
        let channels = view.instance.channels;
        let row = |client| {
            let offers = (0..channels).map(|channel| offer(view, power, client, channel));
            offers.collect()
        };
        Self {
            offers: (0..view.instance.clients()).map(row).collect(),
            channels,
        }
    }

    /// Returns the clients with an offer on some channel.
    pub(super) fn able(&self) -> Vec<usize> {
        let clients = 0..self.offers.len();
        clients
            .filter(|&client| self.least_bill(client).is_some())
            .collect()
    }

    /// Returns the cost of a client's order on its cheapest channel.
    pub(super) fn least_bill(&self, client: usize) -> Option<f64> {
        least_bill(&self.offers[client])
    }

    /// Returns a client's offer on a channel.
    pub(super) fn at(&self, client: usize, channel: usize) -> Option<&Offer> {
        self.offers[client][channel].as_ref()
    }

    /// Orders the first of the preferred clients, `at_most` so many and one a channel, where their
    /// bills add up to least. Who shares its only channels with those before it is passed over.
    pub(super) fn seat(&self, preferred: &[usize], at_most: usize) -> Decision {
        let room = at_most.min(self.channels);
        let first = &preferred[..room.min(preferred.len())];
        let pairs = self.cheapest(first);
        if pairs.len() == first.len() {
            return self.decision(pairs);
        }
        let (mut seated, mut pairs): (Vec<usize>, Vec<_>) = (Vec::new(), Vec::new());
        for &client in preferred {
            if seated.len() == room {
                break;
            }
            seated.push(client);
            let found = self.cheapest(&seated);
            if found.len() == seated.len() {
                pairs = found;
            } else {
                seated.pop();
            }
        }
        self.decision(pairs)
    }

    /// Orders every pair of client and channel.
    pub(super) fn decision(&self, pairs: Vec<(usize, usize)>) -> Decision {
        let order = |(client, channel): (usize, usize)| {
            Some(Order {
                client: ClientId::at(client),
                channel,
                power_w: self.at(client, channel)?.power_w,
                epochs: EPOCHS,
                bit_rate_bps: None,
            })
        };
        let mut orders: Vec<Order> = pairs.into_iter().filter_map(order).collect();
        orders.sort_unstable_by_key(|order| order.client);
        Decision {
            orders,
            ..Decision::default()
        }
    }

    /// Puts as many of the clients as possible on channels, as cheaply as possible.
    fn cheapest(&self, clients: &[usize]) -> Vec<(usize, usize)> {
        let dearest = |&client: &usize| {
            let bills = self.offers[client].iter().flatten().map(|it| it.bill_j);
            bills.fold(0.0, f64::max)
        };
        let total: f64 = clients.iter().map(dearest).sum();
        // Shares of the bill add up to one at most, so a pair more outweighs them all.
        let worth = |offer: &Offer| match total > 0.0 {
            true => 2.0 - offer.bill_j / total,
            false => 2.0,
        };
        let table: Vec<Vec<Option<f64>>> = (0..self.channels)
            .map(|channel| {
                let column = clients.iter().map(|&client| self.at(client, channel));
                column.map(|offer| offer.map(worth)).collect()
            })
            .collect();
        let seats = heaviest_assignment(&table).into_iter().enumerate();
        seats
            .filter_map(|(channel, seat)| Some((clients[seat?], channel)))
            .collect()
    }
}

/// Returns what a client would do on a channel; `None` where it has no samples or cannot meet the
/// deadline.
fn offer(view: &View<'_>, power: BaselinePower, client: usize, channel: usize) -> Option<Offer> {
    let instance = view.instance;
    let slack_s = instance.slack_s(client, f64::from(EPOCHS));
    let upload = upload(instance, power, client, channel, slack_s)?;
    (instance.samples[client] > 0)
        .then(|| Offer::of(view, client, EPOCHS, upload))
        .filter(|offer| offer.bill_j.is_finite())
}
