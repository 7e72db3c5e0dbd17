//! Classes of unlike devices, `[[device.class]]`: what they may say, and how that is read.

mod read;

pub(super) use read::read;

use super::keys::CLASSES;
use super::range::Range::{AtMost, NotNegative, Positive, Within};
use super::section::section;
use super::value::Value;

section!(
    /// One class of devices.
    DeviceClass as "device.class" {
        /// Name of the class in tables.
        name: Option<String> = None, "";
        /// Share of all clients that belong to the class; they are drawn from the seed.
        share: Option<f64> = None, "", Positive, AtMost(1);
        /// Clients that belong to the class, by number, instead of a share.
        clients: Option<Vec<usize>> = None, "";
        /// Processor cycles b per sample and epoch.
        cycles_per_sample: Option<f64> = None, "cycles", Positive;
        /// Processor cycles per non-zero input of the client's samples and epoch.
        cycles_per_nonzero: Option<f64> = None, "cycles", NotNegative;
        /// Processor cycles of an epoch beside those of its samples.
        cycles_per_epoch: Option<f64> = None, "cycles", NotNegative;
        /// Clock frequency f of the processor.
        frequency_hz: Option<f64> = None, "Hz", Positive;
        /// Energy coefficient alpha of the processor.
        energy_coefficient: Option<f64> = None, "J s^2", Positive;
        /// Energy of starting an epoch.
        epoch_j: Option<f64> = None, "J", NotNegative;
        /// Processor cycles of applying a change of the model.
        apply_cycles: Option<f64> = None, "cycles", NotNegative;
        /// Processor cycles of applying a whole model.
        apply_whole_cycles: Option<f64> = None, "cycles", NotNegative;
        /// Processor cycles of evaluating the trained model, whatever the samples.
        evaluate_cycles: Option<f64> = None, "cycles", NotNegative;
        /// Processor cycles of evaluating the trained model, per sample.
        evaluate_cycles_per_sample: Option<f64> = None, "cycles", NotNegative;
        /// Processor cycles of evaluating the trained model, per non-zero input.
        evaluate_cycles_per_nonzero: Option<f64> = None, "cycles", NotNegative;
        /// Processor cycles of coding the update.
        encode_cycles: Option<f64> = None, "cycles", NotNegative;
        /// Processor cycles of measuring the length of an update; only under `[privacy]`.
        clip_cycles: Option<f64> = None, "cycles", NotNegative;
        /// Processor cycles of opening the frames of a change.
        open_cycles: Option<f64> = None, "cycles", NotNegative;
        /// Processor cycles of opening the frames of a whole model.
        open_whole_cycles: Option<f64> = None, "cycles", NotNegative;
        /// Processor cycles of sealing the frames of an update.
        seal_cycles: Option<f64> = None, "cycles", NotNegative;
        /// Power drawn while receiving the broadcast.
        receive_w: Option<f64> = None, "W", NotNegative, AtMost(1000);
        /// Power drawn while transmitting beside the radiated power.
        circuit_w: Option<f64> = None, "W", NotNegative, AtMost(1000);
        /// Radiated power over the power the amplifier draws for it.
        amplifier_efficiency: Option<f64> = None, "", Within(0.001, 1.0);
        /// Energy of starting an upload.
        upload_j: Option<f64> = None, "J", NotNegative;
        /// Power drawn while awake without computing.
        idle_w: Option<f64> = None, "W", NotNegative, AtMost(1000);
        /// Power drawn while asleep.
        sleep_w: Option<f64> = None, "W", NotNegative, AtMost(1000);
        /// Time of writing the model to flash after an order.
        save_s: Option<f64> = None, "s", NotNegative, AtMost(3600);
        /// Power drawn while the model is written to flash.
        save_w: Option<f64> = None, "W", NotNegative, AtMost(1000);
        /// Time of starting after a brown-out.
        boot_s: Option<f64> = None, "s", NotNegative, AtMost(3600);
        /// Energy E_add harvested in every round.
        harvest_j: Option<f64> = None, "J", NotNegative;
        /// Time before the deadline T_max by which these clients must be done.
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
