//! `importance-aware`: fixed epochs, and client i may only use channel i mod C; each channel
//! goes to its feasible client with the largest weighted gradient norm.

use super::baseline::{BaselinePower, epochs_at_full_power, importance, with_fixed_epochs};
use super::{Decision, Policy, PolicyError, View};

/// Scheduling by gradient norms on fixed channels.
#[derive(Clone, Copy, Debug)]
pub struct ImportanceAware {
    /// Transmit power of the clients.
    pub power: BaselinePower,
    /// Epochs of every participant.
    pub epochs: u32,
}

impl Policy for ImportanceAware {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
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
        let pairs = (0..instance.channels)
            .filter_map(|channel| winner(channel).map(|client| (channel, client)));
        Ok(with_fixed_epochs(instance, self.power, self.epochs, pairs))
    }

    fn wants_gradient_norms(&self) -> bool {
        true
    }
}
