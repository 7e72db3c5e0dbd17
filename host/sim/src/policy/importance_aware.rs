//! `importance-aware`: fixed epochs and fixed channels, for the clients of the largest gradients.

use gleaner_cre::bound::weights;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::baseline::{BaselinePower, epochs_at_full_power, with_fixed_epochs};
use super::{Decision, Policy, PolicyError, View};
use crate::ClientId;

/// Measure of a client's importance under `importance-aware`.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize
)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Importance {
    /// norm of its gradient times its weight D_i / D
    #[default]
    Weighted,
    /// norm of its gradient
    Norm,
    /// norm of its gradient over its samples D_i
    PerSample,
}

/// How `importance-aware` fills its channels.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize
)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FixedChannels {
    /// client i may only use channel i mod C, which goes to the most important of those that can finish
    #[default]
    Residue,
    /// the C most important clients take the channels in this order; those that cannot finish are lost
    Ranked,
}

/// Scheduling by gradient norms on fixed channels.
#[derive(Clone, Copy, Debug)]
pub struct ImportanceAware {
    /// Transmit power of the clients.
    pub power: BaselinePower,
    /// Epochs of every participant.
    pub epochs: u32,
    /// Measure of importance.
    pub importance: Importance,
    /// How channels are filled.
    pub channels: FixedChannels,
}

impl Policy for ImportanceAware {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let instance = view.instance;
        let importance = self.importance.of(view);
        let able = |client, channel| epochs_at_full_power(instance, client, channel) >= self.epochs;
        // Of equals the lowest client comes first.
        let mut ranked: Vec<usize> = (0..instance.clients()).collect();
        ranked.sort_by(|&a, &b| importance[b].total_cmp(&importance[a]));
        let (pairs, infeasible): (Vec<_>, Vec<_>) = match self.channels {
            FixedChannels::Residue => {
                let winner = |channel| {
                    let mut its = ranked
                        .iter()
                        .filter(|&it| it % instance.channels == channel);
                    its.find(|&&client| able(client, channel))
                };
                let won = |channel| Some((channel, *winner(channel)?));
                ((0..instance.channels).filter_map(won).collect(), Vec::new())
            }
            FixedChannels::Ranked => {
                let pairs = ranked.into_iter().take(instance.channels).enumerate();
                pairs.partition(|&(channel, client)| able(client, channel))
            }
        };
        let mut infeasible: Vec<ClientId> = (infeasible.into_iter())
            .map(|(_, client)| ClientId::at(client))
            .collect();
        infeasible.sort_unstable();
        let pairs = pairs.into_iter();
        Ok(Decision {
            infeasible,
            ..with_fixed_epochs(instance, self.power, self.epochs, pairs)
        })
    }

    fn wants_gradient_norms(&self) -> bool {
        true
    }
}

impl Importance {
    /// Returns the importance of every client.
    fn of(self, view: &View<'_>) -> Vec<f64> {
        let samples = &view.instance.samples;
        let norms = view.gradient_norms.iter().copied();
        match self {
            Self::Weighted => weights(samples)
                .iter()
                .zip(norms)
                .map(|(w, norm)| w * norm)
                .collect(),
            Self::Norm => norms.collect(),
            Self::PerSample => norms
                .zip(samples)
                .map(|(norm, &d)| norm / f64::from(d))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fixture::Round;

    fn policy(importance: Importance, channels: FixedChannels) -> ImportanceAware {
        ImportanceAware {
            power: BaselinePower::Max,
            epochs: 3,
            importance,
            channels,
        }
    }

    #[test]
    fn measures_differ_by_the_power_of_the_samples() {
        let mut round = Round::first(3, 1);
        round.instance.samples = vec![800, 1000, 1200];
        round.norms = vec![1.0, 1.1, 0.9];
        let chosen = |it| round.chosen(&policy(it, FixedChannels::Ranked));
        assert_eq!(chosen(Importance::Weighted), [1]);
        assert_eq!(chosen(Importance::Norm), [1]);
        assert_eq!(chosen(Importance::PerSample), [0]);
        round.norms = vec![1.0; 3];
        let chosen = |it| round.chosen(&policy(it, FixedChannels::Ranked));
        assert_eq!(chosen(Importance::Weighted), [2]);
        assert_eq!(chosen(Importance::Norm), [0]);
    }

    #[test]
    fn a_ranked_client_that_cannot_finish_leaves_its_channel_empty() {
        let mut round = Round::first(5, 2);
        round.norms = vec![1.0, 5.0, 2.0, 4.0, 3.0];
        let ranked = policy(Importance::Norm, FixedChannels::Ranked);
        assert_eq!(round.chosen(&ranked), [1, 3]);
        round.instance.gain[3] = vec![1e-13; 2];
        assert_eq!(round.chosen(&ranked), [1]);
        assert_eq!(round.decide(&ranked).infeasible, [ClientId(3)]);
        let residue = policy(Importance::Norm, FixedChannels::Residue);
        assert_eq!(round.chosen(&residue), [1, 4]);
    }
}
