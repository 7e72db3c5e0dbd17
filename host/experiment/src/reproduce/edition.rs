//! What is trained, and by whose formulas.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// A network and its data, as the paper pairs them.
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
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Network {
    /// the perceptron on MNIST
    Mlp,
    /// the convolutional network on CIFAR-10
    Cnn,
}

impl Network {
    /// Returns network and data in words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Mlp => "MLP on MNIST",
            Self::Cnn => "CNN on CIFAR-10",
        }
    }

    /// Returns the rounds of the paper's runs.
    #[must_use]
    pub const fn papers_rounds(self) -> usize {
        match self {
            Self::Mlp => 200,
            Self::Cnn => 2000,
        }
    }
}

/// Whose values and formulas CRE follows. The baselines are the same in both: they know neither
/// bound nor queue.
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
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Edition {
    /// our default: errata repaired, exact solver, an income that binds
    Repaired,
    /// every printed value and formula
    Printed,
}

impl Edition {
    /// Returns the preset of a network in this edition.
    #[must_use]
    pub const fn preset(self, network: Network) -> &'static str {
        match (self, network) {
            (Self::Repaired, Network::Mlp) => "paper-mlp",
            (Self::Repaired, Network::Cnn) => "paper-cnn",
            (Self::Printed, Network::Mlp) => "printed-mlp",
            (Self::Printed, Network::Cnn) => "printed-cnn",
        }
    }
}
