//! `channel-allocate`: fixed epochs; channels go to the clients with the largest weighted
//! gradient norms, as far as they can meet the deadline there.

use super::{
    Decision, Policy, View, baseline_power, epochs_at_full_power, heaviest_assignment, importance,
};
use crate::aggregate::Averaging;
use crate::engine::Order;
use crate::optim::SolveError;
use crate::scenario::BaselinePower;

/// Scheduling by an assignment of channels to gradient norms.
#[derive(Clone, Copy, Debug)]
pub struct ChannelAllocate {
    /// How loud clients send.
    pub power: BaselinePower,
    /// Epochs of every participant.
    pub epochs: u32,
}

impl Policy for ChannelAllocate {
    fn decide(&self, view: &View<'_>) -> Result<Decision, SolveError> {
        let instance = view.instance;
        let importance = importance(view);
        let worth: Vec<Vec<Option<f64>>> = (0..instance.channels)
            .map(|channel| {
                (0..instance.clients())
                    .map(|client| {
                        let able = epochs_at_full_power(instance, client, channel) >= self.epochs;
                        able.then(|| importance[client])
                    })
                    .collect()
            })
            .collect();
        let mut orders: Vec<Order> = heaviest_assignment(&worth)
            .into_iter()
            .enumerate()
            .filter_map(|(channel, client)| client.map(|client| (channel, client)))
            .map(|(channel, client)| Order {
                client,
                channel,
                power_w: baseline_power(instance, self.power, client, channel, self.epochs),
                epochs: self.epochs,
            })
            .collect();
        orders.sort_unstable_by_key(|order| order.client);
        Ok(Decision {
            orders,
            averaging: Averaging::Weighted,
            infeasible: Vec::new(),
            promise: None,
        })
    }

    fn wants_gradient_norms(&self) -> bool {
        true
    }
}
