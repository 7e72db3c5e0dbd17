//! `random`: as many random clients as there are channels, all with the epochs of the slowest.

use super::baseline::{BaselinePower, baseline_power};
use super::drawn::{Drawn, at_random, on_channels};
use super::{Decision, Order, Policy, PolicyError, View};
use crate::ClientId;

/// Draws as many clients as there are channels.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    /// Transmit power of the clients.
    pub power: BaselinePower,
}

impl Policy for Random {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        Ok(with_common_epochs(view, &at_random(view), self.power))
    }
}

/// Gives every drawn client that can take part the epochs that all of them can finish,
/// tau = floor(min tau_max at p_max).
pub(super) fn with_common_epochs(
    view: &View<'_>,
    clients: &[usize],
    power: BaselinePower,
) -> Decision {
    let (able, infeasible) = on_channels(view, clients);
    let epochs = able.iter().map(|drawn| drawn.epochs).min().unwrap_or(0);
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
