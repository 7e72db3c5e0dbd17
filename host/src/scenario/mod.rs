//! The scenario: one TOML file that says everything a run depends on.
//!
//! A scenario starts from a preset, then a file, then `--set key=value`, later ones win. Unknown
//! keys are refused with a suggestion, values are checked before anything runs, and the resolved
//! scenario is written in a canonical form whose hash names the run.

mod choices;
mod emit;
mod error;
pub mod keys;
mod preset;
pub mod range;
mod renamed;
mod resolve;
mod section;
mod sections;
mod validate;
pub mod value;

use gleaner_learn::train::ModelKind;
use serde::{Deserialize, Serialize};

pub use choices::{ClientKind, Estimates, ModelBits};
pub use error::ScenarioError;
pub use preset::{PRESETS, Preset};
pub use resolve::{Override, resolve, resolve_text};
pub use sections::{
    Baselines, Channel, Clients, Cre, Data, Device, Learning, Partition, Radio, Run,
};

/// Everything a run depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Length, seed and scheduler of the run.
    pub run: Run,
    /// The clients.
    pub clients: Clients,
    /// Where images come from.
    pub data: Data,
    /// How images are dealt.
    pub partition: Partition,
    /// The network and its training.
    pub learning: Learning,
    /// Propagation.
    pub channel: Channel,
    /// The radio of both ends.
    pub radio: Radio,
    /// Computing and energy of a client.
    pub device: Device,
    /// The CRE scheduler.
    pub cre: Cre,
    /// The baselines.
    pub baselines: Baselines,
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
            Channel::KEYS,
            Radio::KEYS,
            Device::KEYS,
            Cre::KEYS,
            Baselines::KEYS,
        ]
        .into_iter()
        .flatten()
        .copied()
    }

    /// Returns the scenario as a TOML table.
    #[must_use]
    pub fn to_table(&self) -> toml::Table {
        // Plain structs of numbers and words always serialise.
        toml::Table::try_from(self).unwrap_or_default()
    }

    /// Writes the canonical TOML: every key but an empty `channel.trace`, declaration order, no
    /// comments.
    #[must_use]
    pub fn to_toml(&self) -> String {
        emit::scenario(self, false)
    }

    /// Writes the TOML with a comment on every line.
    #[must_use]
    pub fn to_commented_toml(&self) -> String {
        emit::scenario(self, true)
    }

    /// Returns the number of bits of one model transfer.
    #[must_use]
    pub fn model_bits(&self) -> f64 {
        match (self.learning.model, self.radio.model_bits) {
            (ModelKind::Mlp, _) => 318_080.0,
            (ModelKind::Cnn, ModelBits::Paper) => 3_781_200.0,
            (ModelKind::Cnn, ModelBits::Actual) => 8.0 * 576_778.0,
        }
    }
}

#[cfg(test)]
mod tests;
