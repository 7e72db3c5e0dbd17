//! `glean`: energy first. One epoch, the power of least energy that meets the deadline, no clients
//! that cannot pay, and of the others those whose age is worth their share of the cost.
//!
//! The mathematics, the evidence and the limits are those of GLEAN.md; `docs/results/glean.md` tells them
//! whole. In short: with one local epoch there is no client drift, computing costs least, and the
//! slack for sending is longest. Who is heard is a linear assignment of channels, solved exactly:
//!
//! - a_i = (n - o_i) / (1 + f_i), the age: rounds since client i was last *ordered*, over one plus
//!   its failures in a row, so that a dead client does not take a channel for ever;
//! - phi_i = w_i a_i^2 / sum_A w_j a_j^2, its share of the age of all that can pay, A;
//! - e_ic = tau E_i + order_i + e_up,ic, its cost on channel c, and B = sum_A min_c e_jc;
//! - maximise sum (phi_i - lambda e_ic / B). Both shares sum to one, so for lambda <= 1 somebody
//!   always qualifies.
//!
//! No B_1, rho, beta or delta, and so no introduction.

use gleaner_shared::rng::{Purpose, Rng};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::offer::{Offer, least_bill};
use super::{Decision, Order, Policy, PolicyError, View};
use crate::ClientId;
use gleaner_cre::bound::weights;
use gleaner_cre::optim::heaviest_assignment;
use gleaner_cre::optim::power::cheapest_upload;

/// A pair that is worth nothing but rounding is still made.
const TIE: f64 = 1e-9;

/// Claims of clients to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Claim {
    /// its age, squared, times its share of the samples
    Age,
    /// a random draw among the clients that can pay, for comparison
    Draw,
}

/// Settings of the scheduler `glean`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glean {
    /// The weight lambda of the cost against the claim, 0 to 1.
    pub lambda: f64,
    /// Epochs of every participant.
    pub epochs: u32,
    /// Claims of clients to an order.
    pub claim: Claim,
}

impl Policy for Glean {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let (clients, channels) = (view.instance.clients(), view.instance.channels);
        let offers: Vec<Vec<Option<Offer>>> = (0..clients)
            .map(|client| {
                (0..channels)
                    .map(|channel| self.offer(view, client, channel))
                    .collect()
            })
            .collect();
        let least: Vec<Option<f64>> = offers.iter().map(|row| least_bill(row)).collect();
        let claims = self.claims(view, &least);
        let total: f64 = least.iter().flatten().sum();
        let worth = |client: usize, offer: &Offer| {
            let share = if total > 0.0 {
                offer.bill_j / total
            } else {
                0.0
            };
            Some(claims[client] - self.lambda * share + TIE).filter(|&worth| worth >= 0.0)
        };
        let table: Vec<Vec<Option<f64>>> = (0..channels)
            .map(|channel| {
                (0..clients)
                    .map(|client| worth(client, offers[client][channel].as_ref()?))
                    .collect()
            })
            .collect();
        let mut orders: Vec<Order> = heaviest_assignment(&table)
            .into_iter()
            .enumerate()
            .filter_map(|(channel, client)| {
                let client = client?;
                Some(Order {
                    client: ClientId::at(client),
                    channel,
                    power_w: offers[client][channel]?.power_w,
                    epochs: self.epochs,
                    bit_rate_bps: None,
                })
            })
            .collect();
        orders.sort_unstable_by_key(|order| order.client);
        Ok(Decision {
            orders,
            ..Decision::default()
        })
    }
}

impl Glean {
    /// Returns what a client would do on a channel; `None` where it has no samples, cannot meet the
    /// deadline, or cannot pay.
    fn offer(&self, view: &View<'_>, client: usize, channel: usize) -> Option<Offer> {
        let instance = view.instance;
        let slack_s = instance.slack_s(client, f64::from(self.epochs));
        let upload = cheapest_upload(instance, client, channel, slack_s)?;
        (instance.samples[client] > 0)
            .then(|| Offer::of(view, client, self.epochs, upload))
            .and_then(|offer| offer.payable(view, client))
    }

    /// Returns phi_i of every client that can pay, 0 of all others.
    fn claims(&self, view: &View<'_>, least: &[Option<f64>]) -> Vec<f64> {
        let weights = weights(&view.instance.samples);
        let mut claims: Vec<f64> = (0..least.len())
            .map(|client| match (least[client], self.claim) {
                (None, _) => 0.0,
                (Some(_), Claim::Age) => {
                    let age = view.attendance[client].age(view.round);
                    weights[client] * age * age
                }
                (Some(_), Claim::Draw) => {
                    let id = u32::try_from(client).unwrap_or(u32::MAX);
                    Rng::stream(view.seed, Purpose::Schedule, id, view.round).uniform()
                }
            })
            .collect();
        let total: f64 = claims.iter().sum();
        if total > 0.0 {
            claims.iter_mut().for_each(|claim| *claim /= total);
        }
        claims
    }
}

#[cfg(test)]
mod tests;
