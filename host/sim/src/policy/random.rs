//! `random`: as many random clients as there are channels, all with the same number of epochs.

use gleaner_shared::rng::{Purpose, Rng};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::baseline::{BaselinePower, baseline_power};
use super::drawn::{Drawn, at_random, on_channels};
use super::{Decision, Order, Policy, PolicyError, View};
use crate::ClientId;

/// The common number of epochs of `random` and `round-robin`.
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
pub enum CommonEpochs {
    /// as many as all participants can finish
    #[default]
    Most,
    /// drawn in every round, uniformly from 1 to as many as all participants can finish
    Drawn,
}

/// Draws as many clients as there are channels.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    /// Transmit power of the clients.
    pub power: BaselinePower,
    /// Epochs of the clients.
    pub epochs: CommonEpochs,
}

impl Policy for Random {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let clients = at_random(view);
        Ok(with_common_epochs(view, &clients, self.power, self.epochs))
    }
}

/// Orders the same epochs from every drawn client that can take part. All of them can finish
/// floor(min tau_max at p_max).
pub(super) fn with_common_epochs(
    view: &View<'_>,
    clients: &[usize],
    power: BaselinePower,
    rule: CommonEpochs,
) -> Decision {
    let (able, infeasible) = on_channels(view, clients);
    let most = able.iter().map(|drawn| drawn.epochs).min().unwrap_or(0);
    let epochs = match rule {
        CommonEpochs::Drawn if most > 1 => {
            // Client 0 of this stream draws the participants.
            1 + Rng::stream(view.seed, Purpose::Schedule, 1, view.round).below(most)
        }
        CommonEpochs::Most | CommonEpochs::Drawn => most,
    };
    let order = |&Drawn {
                     client, channel, ..
                 }: &Drawn| Order {
        client: ClientId::at(client),
        channel,
        power_w: baseline_power(view.instance, power, client, channel, epochs),
        epochs,
        bit_rate_bps: None,
    };
    Decision {
        orders: able.iter().map(order).collect(),
        infeasible,
        ..Decision::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fixture::Round;

    #[test]
    fn drawn_epochs_are_uniform_up_to_the_most_and_common() {
        let mut round = Round::first(10, 3);
        let power = BaselinePower::Max;
        let of = |epochs| Random { power, epochs };
        let most = round.orders(&of(CommonEpochs::Most))[0].epochs;
        assert!(most > 2, "{most}");
        let mut counts = vec![0u32; most as usize];
        for number in 1..=600 {
            round.number = number;
            let orders = round.orders(&of(CommonEpochs::Drawn));
            let epochs = orders[0].epochs;
            assert!(orders.len() == 3 && orders.iter().all(|it| it.epochs == epochs));
            counts[epochs as usize - 1] += 1;
        }
        let expected = 600.0 / f64::from(most);
        for count in &counts {
            let off = f64::from(*count) - expected;
            assert!(off.abs() < 4.0 * expected.sqrt(), "{counts:?}");
        }
    }
}
