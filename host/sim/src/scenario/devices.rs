//! The class and the device of each client.

use gleaner_shared::rng::{Purpose, Rng};

use super::class::{DeviceClass, place};
use super::{Device, Scenario};

/// The device of one client: `[device]`, with what its class says instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientDevice {
    /// Its class, by its place in the list; `None` of a client that no class covers.
    pub class: Option<usize>,
    /// Processor cycles b per sample and epoch.
    pub cycles_per_sample: f64,
    /// Processor cycles of an epoch beside those of its samples.
    pub cycles_per_epoch: f64,
    /// Clock frequency f of the processor.
    pub frequency_hz: f64,
    /// Energy coefficient alpha of the processor.
    pub energy_coefficient: f64,
    /// Costs that the paper does not account for.
    pub costs: Overheads,
    /// Energy E_add harvested in every round.
    pub harvest_j: f64,
    /// Time before the deadline by which it must be done.
    pub deadline_slack_s: f64,
}

/// Costs of a device beside epochs and radiated energy; zero in the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overheads {
    /// Energy of starting an epoch.
    pub epoch_j: f64,
    /// Processor cycles of bringing the model up to date.
    pub apply_cycles: f64,
    /// Processor cycles per sample of finding the loss of the trained model.
    pub evaluate_cycles_per_sample: f64,
    /// Processor cycles of coding the update.
    pub encode_cycles: f64,
    /// Power drawn while the broadcast is heard.
    pub receive_w: f64,
    /// Power drawn while sending beside what is radiated.
    pub circuit_w: f64,
    /// Radiated power over the power the amplifier draws for it.
    pub amplifier_efficiency: f64,
    /// Energy of starting an upload.
    pub upload_j: f64,
    /// Power drawn by a participant that waits.
    pub idle_w: f64,
    /// Power drawn while asleep.
    pub sleep_w: f64,
}

impl Overheads {
    /// The paper's: all that is drawn is radiated, and waiting is free.
    pub const PAPER: Self = Self {
        epoch_j: 0.0,
        apply_cycles: 0.0,
        evaluate_cycles_per_sample: 0.0,
        encode_cycles: 0.0,
        receive_w: 0.0,
        circuit_w: 0.0,
        amplifier_efficiency: 1.0,
        upload_j: 0.0,
        idle_w: 0.0,
        sleep_w: 0.0,
    };
}

impl ClientDevice {
    /// Returns the cycles of an epoch over so many samples.
    #[must_use]
    pub fn epoch_cycles(&self, samples: u32) -> f64 {
        self.cycles_per_epoch + self.cycles_per_sample * f64::from(samples)
    }
}

impl Device {
    /// Returns the device of a client that no class covers.
    #[must_use]
    pub const fn common(&self) -> ClientDevice {
        ClientDevice {
            class: None,
            cycles_per_sample: self.cycles_per_sample,
            cycles_per_epoch: self.cycles_per_epoch,
            frequency_hz: self.frequency_hz,
            energy_coefficient: self.energy_coefficient,
            costs: Overheads {
                epoch_j: self.epoch_j,
                apply_cycles: self.apply_cycles,
                evaluate_cycles_per_sample: self.evaluate_cycles_per_sample,
                encode_cycles: self.encode_cycles,
                receive_w: self.receive_w,
                circuit_w: self.circuit_w,
                amplifier_efficiency: self.amplifier_efficiency,
                upload_j: self.upload_j,
                idle_w: self.idle_w,
                sleep_w: self.sleep_w,
            },
            harvest_j: self.harvest_j,
            deadline_slack_s: 0.0,
        }
    }

    fn of_class(&self, at: usize, class: &DeviceClass) -> ClientDevice {
        let common = self.common();
        ClientDevice {
            class: Some(at),
            cycles_per_sample: class.cycles_per_sample.unwrap_or(common.cycles_per_sample),
            cycles_per_epoch: class.cycles_per_epoch.unwrap_or(common.cycles_per_epoch),
            frequency_hz: class.frequency_hz.unwrap_or(common.frequency_hz),
            energy_coefficient: class
                .energy_coefficient
                .unwrap_or(common.energy_coefficient),
            costs: class.overheads(&common.costs),
            harvest_j: class.harvest_j.unwrap_or(common.harvest_j),
            deadline_slack_s: class.deadline_slack_s.unwrap_or(common.deadline_slack_s),
        }
    }
}

impl DeviceClass {
    fn overheads(&self, common: &Overheads) -> Overheads {
        Overheads {
            epoch_j: self.epoch_j.unwrap_or(common.epoch_j),
            apply_cycles: self.apply_cycles.unwrap_or(common.apply_cycles),
            evaluate_cycles_per_sample: self
                .evaluate_cycles_per_sample
                .unwrap_or(common.evaluate_cycles_per_sample),
            encode_cycles: self.encode_cycles.unwrap_or(common.encode_cycles),
            receive_w: self.receive_w.unwrap_or(common.receive_w),
            circuit_w: self.circuit_w.unwrap_or(common.circuit_w),
            amplifier_efficiency: self
                .amplifier_efficiency
                .unwrap_or(common.amplifier_efficiency),
            upload_j: self.upload_j.unwrap_or(common.upload_j),
            idle_w: self.idle_w.unwrap_or(common.idle_w),
            sleep_w: self.sleep_w.unwrap_or(common.sleep_w),
        }
    }
}

impl Scenario {
    /// Returns the device of every client, in client order.
    ///
    /// Lists are taken as they are; shares become whole numbers of clients by largest remainder,
    /// and who they are is drawn from the seed among the clients that no list names. Blocks of
    /// numbers would not do: the number of a client also says which label its samples have most of
    /// (rule `paper`) and which channel it may use (`importance-aware`), so a device would come
    /// with the same labels under every seed.
    #[must_use]
    pub fn devices(&self) -> Vec<ClientDevice> {
        let mut devices = vec![self.device.common(); self.clients.count];
        let mut listed = vec![false; devices.len()];
        for (at, class) in self.device.class.iter().enumerate() {
            for &client in class.clients.iter().flatten() {
                if let Some(device) = devices.get_mut(client) {
                    *device = self.device.of_class(at, class);
                    listed[client] = true;
                }
            }
        }
        let mut free: Vec<usize> = (0..devices.len()).filter(|&at| !listed[at]).collect();
        Rng::stream(self.run.seed, Purpose::Devices, 0, 0).shuffle(&mut free);
        let mut drawn = free.into_iter();
        for (at, count) in counts(self).into_iter().enumerate() {
            for client in drawn.by_ref().take(count) {
                devices[client] = self.device.of_class(at, &self.device.class[at]);
            }
        }
        devices
    }

    /// Returns the device of one client; [`Scenario::devices`] has all of them at once.
    #[must_use]
    pub fn device_of(&self, client: usize) -> ClientDevice {
        if self.device.class.is_empty() {
            return self.device.common();
        }
        let devices = self.devices();
        devices.get(client).copied().unwrap_or(self.device.common())
    }

    /// Returns what tables call a class: its name, its place in the list, or `others` for the
    /// clients that no class covers.
    #[must_use]
    pub fn class_name(&self, class: Option<usize>) -> String {
        let Some(at) = class else {
            return "others".to_owned();
        };
        let named = self.device.class.get(at).and_then(|it| it.name.clone());
        named.unwrap_or_else(|| place(at))
    }
}

/// Returns how many clients each class draws, 0 where it has a list: shares times clients, rounded
/// down, and what is missing to the rounded sum goes to the largest remainders, of equals to the
/// first.
pub(super) fn counts(s: &Scenario) -> Vec<usize> {
    let quotas: Vec<f64> = (s.device.class.iter())
        .map(|class| class.share.unwrap_or_default() * s.clients.count as f64)
        .collect();
    let mut counts: Vec<usize> = quotas.iter().map(|quota| quota.floor() as usize).collect();
    let whole = quotas.iter().sum::<f64>().round() as usize;
    let missing = whole.saturating_sub(counts.iter().sum());
    let mut order: Vec<usize> = (0..counts.len()).collect();
    // A stable sort, so that the first of equals stays first.
    order.sort_by(|&a, &b| quotas[b].fract().total_cmp(&quotas[a].fract()));
    for &at in order.iter().take(missing) {
        counts[at] += 1;
    }
    counts
}
