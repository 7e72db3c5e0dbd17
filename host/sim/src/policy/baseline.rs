//! Common parts of the baselines: transmit power and gradient norms.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::{Decision, Order, View};
use crate::ClientId;
use gleaner_cre::bound::weights;
use gleaner_cre::optim::epochs::{epoch_limit, whole_epochs};
use gleaner_cre::optim::power::{Transmission, cheapest_upload, quietest_upload};
use gleaner_cre::optim::{Instance, Upload};

/// Transmit power of the baselines, from the most energy to the least.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize
)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum BaselinePower {
    /// the largest power allowed
    Max,
    /// the least power that meets the deadline
    Min,
    /// of the powers that meet the deadline, the one whose upload costs the client least, as `glean` has it
    LeastEnergy,
}

/// When the gradient norms that two baselines rank clients by are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum GradientNorms {
    /// a client's norm is refreshed when it takes part
    Stale,
    /// every client evaluates its gradient every round, free of charge
    Fresh,
}

/// Returns how many epochs a client can finish on a channel at full power.
pub(super) fn epochs_at_full_power(instance: &Instance, client: usize, channel: usize) -> u32 {
    let upload = Upload {
        client,
        channel,
        power_w: instance.power_max_w,
    };
    whole_epochs(epoch_limit(instance, &upload))
}

/// Returns the upload of a baseline that has to be complete within `slack_s`; `None` if full power is
/// too slow.
pub(super) fn upload(
    instance: &Instance,
    rule: BaselinePower,
    client: usize,
    channel: usize,
    slack_s: f64,
) -> Option<Transmission> {
    match rule {
        BaselinePower::Max => {
            cheapest_upload(instance, client, channel, slack_s)?;
            let power_w = instance.power_max_w;
            let time_s = instance.upload_s(client, channel, power_w);
            Some(Transmission { power_w, time_s })
        }
        BaselinePower::Min => quietest_upload(instance, client, channel, slack_s),
        BaselinePower::LeastEnergy => cheapest_upload(instance, client, channel, slack_s),
    }
}

/// Returns the power a baseline sends with; it is the largest where rounding leaves no other in time.
pub(super) fn baseline_power(
    instance: &Instance,
    rule: BaselinePower,
    client: usize,
    channel: usize,
    epochs: u32,
) -> f64 {
    let slack_s = instance.slack_s(client, f64::from(epochs));
    let upload = upload(instance, rule, client, channel, slack_s);
    upload.map_or(instance.power_max_w, |upload| upload.power_w)
}

/// Orders the same epochs on every pair of channel and client.
pub(super) fn with_fixed_epochs(
    instance: &Instance,
    power: BaselinePower,
    epochs: u32,
    pairs: impl Iterator<Item = (usize, usize)>,
) -> Decision {
    let mut orders: Vec<Order> = pairs
        .map(|(channel, client)| Order {
            client: ClientId::at(client),
            channel,
            power_w: baseline_power(instance, power, client, channel, epochs),
            epochs,
            bit_rate_bps: None,
        })
        .collect();
    orders.sort_unstable_by_key(|order| order.client);
    Decision {
        orders,
        ..Decision::default()
    }
}

/// Returns w_i ||grad F_i||, what two baselines rank clients by.
pub(super) fn importance(view: &View<'_>) -> Vec<f64> {
    weights(&view.instance.samples)
        .iter()
        .zip(view.gradient_norms)
        .map(|(weight, norm)| weight * norm)
        .collect()
}

#[cfg(test)]
mod tests;
