//! Classes of unlike devices, `[[device.class]]`: what they may say, and how that is read.

mod read;

pub(super) use read::read;

use super::keys::CLASSES;
use super::range::Range::{AtMost, NotNegative, Positive};
use super::section::section;
use super::value::Value;

section!(
    /// Devices of one kind.
    DeviceClass as "device.class" {
        /// What tables call the class.
        name: Option<String> = None, "";
        /// Share of all clients that belong to it; who they are is drawn from the seed.
        share: Option<f64> = None, "", Positive, AtMost(1);
        /// The clients that belong to it, by number, instead of a share.
        clients: Option<Vec<usize>> = None, "";
        /// Processor cycles b per sample and epoch.
        cycles_per_sample: Option<f64> = None, "cycles", Positive;
        /// Processor cycles of an epoch beside those of its samples.
        cycles_per_epoch: Option<f64> = None, "cycles", NotNegative;
        /// Processor clock f.
        frequency_hz: Option<f64> = None, "Hz", Positive;
        /// Energy coefficient alpha.
        energy_coefficient: Option<f64> = None, "J s^2", Positive;
        /// Energy E_add harvested in every round.
        harvest_j: Option<f64> = None, "J", NotNegative;
        /// How long before the deadline T_max they must be done.
        deadline_slack_s: Option<f64> = None, "s", NotNegative;
    }
);

impl Value for Vec<DeviceClass> {
    const KIND: &'static str = "list of tables";
}

/// Names a class by its place in the list.
pub(super) fn place(at: usize) -> String {
    format!("{CLASSES}[{at}]")
}
