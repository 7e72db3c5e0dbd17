//! The scenario: one TOML file that says everything a run depends on.
//!
//! A scenario starts from a preset, then a file, then `--set key=value`, later ones win. Unknown
//! keys are refused with a suggestion, values are checked before anything runs, and the resolved
//! scenario is written in a canonical form whose hash names the run.

mod choices;
mod class;
mod devices;
mod emit;
mod error;
mod harvest;
pub mod keys;
mod norm_bound;
mod preset;
mod profile;
mod programs;
mod radio;
pub mod range;
mod renamed;
mod resolve;
mod section;
mod sections;
mod validate;
pub mod value;

use crate::policy::{BaselinePower, Decider, Scheduler};
use gleaner_learn::aggregate::Rule;
use gleaner_learn::server::{Momentum, Spectral, Step};
use gleaner_learn::train::ModelKind;
use serde::{Deserialize, Serialize};

pub use choices::{
    AggregationRule, Attack, ClientKind, Estimates, ModelBits, NoiseSource, RateRule, ServerRule,
    StopRule, UploadRule,
};
pub use class::DeviceClass;
pub use devices::{ClientDevice, Load, Overheads};
pub use error::ScenarioError;
pub use harvest::Harvest;
pub use norm_bound::NormBound;
pub use preset::{PRESETS, Preset};
pub use profile::{read_profile, resolve_with_profile};
pub use resolve::{Override, resolve, resolve_text};
pub use sections::{
    Aggregation, Baselines, Channel, Clients, Cre, Data, Device, Faults, Glean, Hostile, Learning,
    Partition, Privacy, Radio, Run, Server, Upload,
};

/// Everything a run depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Length, seed and scheduler of the run.
    pub run: Run,
    /// Number and kind of clients.
    pub clients: Clients,
    /// The data set and its samples.
    pub data: Data,
    /// Partition of the samples among the clients.
    pub partition: Partition,
    /// The network and its training.
    pub learning: Learning,
    /// The code of uploads.
    pub upload: Upload,
    /// Propagation and fading of the channel.
    pub channel: Channel,
    /// The radio of both ends.
    pub radio: Radio,
    /// Computing and energy of a client.
    pub device: Device,
    /// Harvest source and energy store of the clients.
    pub harvest: Harvest,
    /// Settings of the CRE scheduler.
    pub cre: Cre,
    /// Settings of the baseline schedulers.
    pub baselines: Baselines,
    /// Settings of the scheduler glean.
    pub glean: Glean,
    /// From updates to the next model.
    pub aggregation: Aggregation,
    /// The base station's step after aggregation.
    pub server: Server,
    /// Differential privacy of the model.
    pub privacy: Privacy,
    /// Simulated attackers among the clients.
    pub hostile: Hostile,
    /// Simulated faults of the uplink.
    pub faults: Faults,
}

impl Scenario {
    /// Iterates over every key in canonical order.
    pub fn keys() -> impl Iterator<Item = keys::Key> {
        [
            Run::KEYS,
            Clients::KEYS,
            Data::KEYS,
            Partition::KEYS,
            Learning::KEYS,
            Upload::KEYS,
            Channel::KEYS,
            Radio::KEYS,
            Device::KEYS,
            Harvest::KEYS,
            Cre::KEYS,
            Baselines::KEYS,
            Glean::KEYS,
            Aggregation::KEYS,
            Server::KEYS,
            Privacy::KEYS,
            Hostile::KEYS,
            Faults::KEYS,
        ]
        .into_iter()
        .flatten()
        .copied()
    }

    /// Returns the keys of a `[[device.class]]`.
    #[must_use]
    pub const fn class_keys() -> &'static [keys::Key] {
        DeviceClass::KEYS
    }

    /// Returns the scenario as a TOML table.
    #[must_use]
    pub fn to_table(&self) -> toml::Table {
        // Plain structs of numbers and words always serialise.
        toml::Table::try_from(self).unwrap_or_default()
    }

    /// Writes the canonical TOML: declaration order, no comments, every key but those younger than
    /// the first runs that have their default.
    #[must_use]
    pub fn to_toml(&self) -> String {
        emit::scenario(self, false)
    }

    /// Writes the TOML with a comment on every line.
    #[must_use]
    pub fn to_commented_toml(&self) -> String {
        emit::scenario(self, true)
    }

    /// Returns the rule by which updates become the next model.
    #[must_use]
    pub const fn rule(&self) -> Rule {
        let Aggregation {
            rule,
            hostile,
            clip_factor,
            ..
        } = self.aggregation;
        match (rule, &self.run.scheduler) {
            (AggregationRule::Auto, Decider::Own(Scheduler::FedNova))
            | (AggregationRule::Nova, _) => Rule::Nova,
            (AggregationRule::Auto | AggregationRule::Mean | AggregationRule::Fltrust, _) => {
                Rule::Mean
            }
            (AggregationRule::Clip, _) => Rule::Clip {
                factor: clip_factor,
            },
            (AggregationRule::Median, _) => Rule::Median,
            (AggregationRule::TrimmedMean, _) => Rule::Trimmed { hostile },
            (AggregationRule::Krum, _) => Rule::Krum { hostile },
        }
    }

    /// Returns the transmit power of a baseline; `None` for schedulers that choose their powers.
    #[must_use]
    pub const fn power_rule(&self) -> Option<BaselinePower> {
        match self.run.scheduler.is_baseline() {
            true => Some(self.baselines.power),
            false => None,
        }
    }

    /// Returns the base station's step after aggregation.
    #[must_use]
    pub const fn server(&self) -> Step {
        let Server {
            momentum,
            rate,
            momentum_cap,
            step,
            clip,
            anneal,
            ..
        } = self.server;
        let rule = self.server.rule.resolved(&self.run.scheduler);
        match rule {
            ServerRule::Auto | ServerRule::Plain => Step::Plain,
            ServerRule::Momentum | ServerRule::Nesterov => Step::Momentum(Momentum {
                momentum,
                rate,
                nesterov: matches!(rule, ServerRule::Nesterov),
            }),
            ServerRule::Spectral => Step::Spectral(Spectral {
                learning_rate: self.learning.learning_rate,
                momentum: momentum_cap,
                step,
                clip,
                anneal,
            }),
        }
    }

    /// Returns the number of bits of one transfer of the paper's model.
    #[must_use]
    pub fn model_bits(&self) -> f64 {
        match self.learning.model {
            ModelKind::Mlp => self.model_bits_of(39_760),
            ModelKind::Cnn => self.model_bits_of(576_778),
        }
    }

    /// Returns the number of bits of one transfer of a model of so many parameters: 8 for each,
    /// which is what the paper counts for its perceptron.
    #[must_use]
    pub fn model_bits_of(&self, parameters: usize) -> f64 {
        match (self.learning.model, self.radio.model_bits) {
            (ModelKind::Cnn, ModelBits::Paper) => 3_781_200.0,
            _ => 8.0 * parameters as f64,
        }
    }
}

#[cfg(test)]
mod tests;
