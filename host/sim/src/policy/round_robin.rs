//! `round-robin`: as many clients as there are channels, in rotation.

use super::random::with_common_epochs;
use super::{BaselinePower, CommonEpochs, Decision, Policy, PolicyError, View};

/// Schedules the clients in rotation.
#[derive(Clone, Copy, Debug)]
pub struct RoundRobin {
    /// Transmit power of the clients.
    pub power: BaselinePower,
    /// Epochs of the clients.
    pub epochs: CommonEpochs,
}

impl Policy for RoundRobin {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let (clients, channels) = (view.instance.clients(), view.instance.channels);
        let first = view.round.saturating_sub(1) as usize * channels;
        let turn: Vec<usize> = (0..channels.min(clients))
            .map(|n| (first + n) % clients)
            .collect();
        Ok(with_common_epochs(view, &turn, self.power, self.epochs))
    }
}
