//! `fednova`: random clients, each as many epochs as fit, normalised averaging.
//!
//! Wang et al., "Tackling the objective inconsistency problem in heterogeneous federated
//! optimization", 2020.

use super::baseline::{BaselinePower, baseline_power};
use super::drawn::{Drawn, at_random, on_channels};
use super::{Decision, Order, Policy, PolicyError, View};
use crate::ClientId;

/// Random scheduling with individual epochs.
#[derive(Clone, Copy, Debug)]
pub struct FedNova {
    /// Transmit power of the clients.
    pub power: BaselinePower,
}

impl Policy for FedNova {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let (able, infeasible) = on_channels(view, &at_random(view));
        let order = |&Drawn {
                         client,
                         channel,
                         epochs,
                     }: &Drawn| Order {
            client: ClientId::at(client),
            channel,
            power_w: baseline_power(view.instance, self.power, client, channel, epochs),
            epochs,
            bit_rate_bps: None,
        };
        Ok(Decision {
            orders: able.iter().map(order).collect(),
            infeasible,
            ..Decision::default()
        })
    }
}
