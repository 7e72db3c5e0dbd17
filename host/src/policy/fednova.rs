//! `fednova`: random clients, each as many epochs as fit, normalised averaging.
//!
//! Wang et al., "Tackling the objective inconsistency problem in heterogeneous federated
//! optimization", 2020.

use super::drawn::{Drawn, at_random, on_channels};
use super::{Decision, Policy, View, baseline_power};
use crate::round::Order;
use crate::scenario::BaselinePower;
use gleaner_cre::optim::SolveError;
use gleaner_learn::aggregate::Averaging;

/// Random scheduling with individual epochs.
#[derive(Clone, Copy, Debug)]
pub struct FedNova {
    /// How loud clients send.
    pub power: BaselinePower,
}

impl Policy for FedNova {
    fn decide(&self, view: &View<'_>) -> Result<Decision, SolveError> {
        let (able, infeasible) = on_channels(view, &at_random(view));
        let order = |&Drawn {
                         client,
                         channel,
                         epochs,
                     }: &Drawn| Order {
            client,
            channel,
            power_w: baseline_power(view.instance, self.power, client, channel, epochs),
            epochs,
        };
        Ok(Decision {
            orders: able.iter().map(order).collect(),
            averaging: Averaging::Normalised,
            infeasible,
            promise: None,
        })
    }
}
