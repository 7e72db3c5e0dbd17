//! The class and the device of each client.

use gleaner_shared::energy::Pace;
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::Cycles;

use super::class::{DeviceClass, place};
use super::{Device, Scenario};

/// The device of one client: `[device]`, with what its class says instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientDevice {
    /// Its class, by its place in the list; `None` of a client that no class covers.
    pub class: Option<usize>,
    /// Processor cycles b per sample and epoch.
    pub cycles_per_sample: f64,
    /// Processor cycles per non-zero input and epoch.
    pub cycles_per_nonzero: f64,
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

/// Declares [`Overheads`] with its values from `[device]` and from a class.
macro_rules! overheads {
    ($($(#[$doc:meta])* $name:ident = $paper:literal,)*) => {
        /// Costs of a device beside epochs and radiated energy; zero in the paper.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Overheads {
            $($(#[$doc])* pub $name: f64,)*
        }

        impl Overheads {
            /// The paper's: all that is drawn is radiated, and waiting is free.
            pub const PAPER: Self = Self { $($name: $paper,)* };

            const fn of_device(device: &Device) -> Self {
                Self { $($name: device.$name,)* }
            }

            /// Returns the values of a class, and these where it has none.
            fn of_class(&self, class: &DeviceClass) -> Self {
                Self { $($name: class.$name.unwrap_or(self.$name),)* }
            }
        }
    };
}

overheads! {
    /// Energy of starting an epoch.
    epoch_j = 0.0,
    /// Processor cycles of applying a change of the model.
    apply_cycles = 0.0,
    /// Processor cycles of applying a whole model.
    apply_whole_cycles = 0.0,
    /// Processor cycles of evaluating the trained model, whatever the samples.
    evaluate_cycles = 0.0,
    /// Processor cycles of evaluating the trained model, per sample.
    evaluate_cycles_per_sample = 0.0,
    /// Processor cycles of evaluating the trained model, per non-zero input.
    evaluate_cycles_per_nonzero = 0.0,
    /// Processor cycles of coding the update.
    encode_cycles = 0.0,
    /// Processor cycles of measuring the length of an update, under `[privacy]`.
    clip_cycles = 0.0,
    /// Processor cycles of opening the frames of a change.
    open_cycles = 0.0,
    /// Processor cycles of opening the frames of a whole model.
    open_whole_cycles = 0.0,
    /// Processor cycles of sealing the frames of an update.
    seal_cycles = 0.0,
    /// Power drawn while the broadcast is heard.
    receive_w = 0.0,
    /// Power drawn while sending beside what is radiated.
    circuit_w = 0.0,
    /// Radiated power over the power the amplifier draws for it.
    amplifier_efficiency = 1.0,
    /// Energy of starting an upload.
    upload_j = 0.0,
    /// Power drawn while awake without computing.
    idle_w = 0.0,
    /// Power drawn while asleep.
    sleep_w = 0.0,
    /// Time of writing the model to flash after an order.
    save_s = 0.0,
    /// Power drawn while the model is written to flash.
    save_w = 0.0,
    /// Time of starting after a brown-out.
    boot_s = 0.0,
}

/// The samples of a client, as its processor sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Number of samples D_i of the client.
    pub samples: u32,
    /// Inputs of all its samples that are not zero.
    pub nonzero: u64,
}

impl ClientDevice {
    /// Returns the cycles of an epoch: those beside the samples, a per sample and b per non-zero
    /// input.
    #[must_use]
    pub fn epoch_cycles(&self, load: Load) -> f64 {
        self.cycles_per_epoch
            + self.cycles_per_sample * f64::from(load.samples)
            + self.cycles_per_nonzero * load.nonzero as f64
    }

    /// Returns the expected cycles of all work of an order, in whole cycles.
    #[must_use]
    pub fn pace(&self, load: Load) -> Pace {
        let cycles = |number: f64| Cycles(number.round() as u64);
        let costs = &self.costs;
        Pace {
            epoch: cycles(self.epoch_cycles(load)),
            evaluate: cycles(
                costs.evaluate_cycles
                    + costs.evaluate_cycles_per_sample * f64::from(load.samples)
                    + costs.evaluate_cycles_per_nonzero * load.nonzero as f64,
            ),
            apply_change: cycles(costs.apply_cycles),
            apply_whole: cycles(costs.apply_whole_cycles),
            encode: cycles(costs.encode_cycles),
            open_change: cycles(costs.open_cycles),
            open_whole: cycles(costs.open_whole_cycles),
            seal: cycles(costs.seal_cycles),
        }
    }
}

impl Device {
    /// Returns the device of a client that no class covers.
    #[must_use]
    pub const fn common(&self) -> ClientDevice {
        ClientDevice {
            class: None,
            cycles_per_sample: self.cycles_per_sample,
            cycles_per_nonzero: self.cycles_per_nonzero,
            cycles_per_epoch: self.cycles_per_epoch,
            frequency_hz: self.frequency_hz,
            energy_coefficient: self.energy_coefficient,
            costs: Overheads::of_device(self),
            harvest_j: self.harvest_j,
            deadline_slack_s: 0.0,
        }
    }

    fn of_class(&self, at: usize, class: &DeviceClass) -> ClientDevice {
        let common = self.common();
        ClientDevice {
            class: Some(at),
            cycles_per_sample: class.cycles_per_sample.unwrap_or(common.cycles_per_sample),
            cycles_per_nonzero: class
                .cycles_per_nonzero
                .unwrap_or(common.cycles_per_nonzero),
            cycles_per_epoch: class.cycles_per_epoch.unwrap_or(common.cycles_per_epoch),
            frequency_hz: class.frequency_hz.unwrap_or(common.frequency_hz),
            energy_coefficient: class
                .energy_coefficient
                .unwrap_or(common.energy_coefficient),
            costs: common.costs.of_class(class),
            harvest_j: class.harvest_j.unwrap_or(common.harvest_j),
            deadline_slack_s: class.deadline_slack_s.unwrap_or(common.deadline_slack_s),
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

    /// Returns the expected cycles of all work of an order on a device, in whole cycles; under
    /// `[privacy]` coding an update begins with measuring its length.
    #[must_use]
    pub fn pace(&self, device: &ClientDevice, load: Load) -> Pace {
        let mut pace = device.pace(load);
        if self.privacy.is_on() {
            let clip = Cycles(device.costs.clip_cycles.round() as u64);
            pace.encode = pace.encode.saturating_add(clip);
        }
        pace
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
