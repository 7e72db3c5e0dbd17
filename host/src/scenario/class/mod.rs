//! Classes of unlike devices, `[[device.class]]`: what they may say, who belongs to them, and what
//! follows for each client.

mod check;
mod deal;
mod read;

pub(super) use check::check;
pub use deal::ClientDevice;
pub(super) use read::read;

use super::range::Range::{AtMost, NotNegative, Positive};
use super::section::section;

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

/// The path of the key that holds the classes.
pub(super) const PATH: &str = "device.class";

/// Names a class by its place in the list.
fn place(at: usize) -> String {
    format!("{PATH}[{at}]")
}

#[cfg(test)]
mod tests;
