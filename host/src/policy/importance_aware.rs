//! `importance-aware`: fixed epochs, and client i may only use channel i mod C; each channel
//! goes to its feasible client with the largest weighted gradient norm.

use super::{Decision, Policy, View, baseline_power, epochs_at_full_power, importance};
use crate::aggregate::Averaging;
use crate::engine::Order;
use crate::optim::SolveError;
use crate::scenario::BaselinePower;

/// Scheduling by gradient norms on fixed channels.
#[derive(Clone, Copy, Debug)]
pub struct ImportanceAware {
    /// How loud clients send.
    pub power: BaselinePower,
    /// Epochs of every participant.
    pub epochs: u32,
}

impl Policy for ImportanceAware {
    fn decide(&self, view: &View<'_>) -> Result<Decision, SolveError> {
        let instance = view.instance;
        let importance = importance(view);
        let winner = |channel: usize| {
            (channel..instance.clients())
                .step_by(instance.channels)
                .filter(|&client| epochs_at_full_power(instance, client, channel) >= self.epochs)
                // Of equals the lowest client wins.
                .rev()
                .max_by(|&a, &b| importance[a].total_cmp(&importance[b]))
        };
        let mut orders: Vec<Order> = (0..instance.channels)
            .filter_map(|channel| winner(channel).map(|client| (channel, client)))
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
