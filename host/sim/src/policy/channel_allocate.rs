//! `channel-allocate`: fixed epochs; channels go to the clients with the largest weighted
//! gradient norms, as far as they can meet the deadline there.

use super::baseline::{BaselinePower, epochs_at_full_power, importance, with_fixed_epochs};
use super::{Decision, Policy, PolicyError, View};
use gleaner_cre::optim::{Instance, heaviest_assignment};

/// Scheduling by an assignment of channels to gradient norms.
#[derive(Clone, Copy, Debug)]
pub struct ChannelAllocate {
    /// Transmit power of the clients.
    pub power: BaselinePower,
    /// Epochs of every participant.
    pub epochs: u32,
}

impl Policy for ChannelAllocate {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let instance = view.instance;
        let importance = importance(view);
        let heaviest = self.assign(instance, |client, _| Some(importance[client]));
        // A norm says nothing of channels: every way to put the same clients on them weighs the
        // same. Of these the one with the least time on the air is taken.
        let mut chosen = vec![false; instance.clients()];
        heaviest
            .iter()
            .flatten()
            .for_each(|&client| chosen[client] = true);
        // Every upload ends before the deadline, so one pair more outweighs what all others take.
        let plenty_s = instance.deadline_s * (1 + instance.channels) as f64;
        let pairs = self
            .assign(instance, |client, channel| {
                chosen[client]
                    .then(|| plenty_s - instance.upload_s(client, channel, instance.power_max_w))
            })
            .into_iter()
            .enumerate()
            .filter_map(|(channel, client)| client.map(|client| (channel, client)));
        Ok(with_fixed_epochs(instance, self.power, self.epochs, pairs))
    }

    fn wants_gradient_norms(&self) -> bool {
        true
    }
}

impl ChannelAllocate {
    /// Returns the client of every channel that makes the sum of `worth` largest, over pairs that
    /// meet the deadline.
    fn assign(
        &self,
        instance: &Instance,
        worth: impl Fn(usize, usize) -> Option<f64>,
    ) -> Vec<Option<usize>> {
        let table: Vec<Vec<Option<f64>>> = (0..instance.channels)
            .map(|channel| {
                (0..instance.clients())
                    .map(|client| {
                        let able = epochs_at_full_power(instance, client, channel) >= self.epochs;
                        worth(client, channel).filter(|_| able)
                    })
                    .collect()
            })
            .collect();
        heaviest_assignment(&table)
    }
}
