//! The networks by name.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::{Cnn, Kernel, Mlp, Model};
use crate::data::Shape;

/// The network that is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ModelKind {
    /// 784-50-10 perceptron, 39,760 parameters
    Mlp,
    /// two 5x5 convolutions and three dense layers, 576,778 parameters
    Cnn,
}

impl ModelKind {
    /// Returns the network as the paper has it.
    #[must_use]
    pub fn paper(self, kernel: Kernel) -> Box<dyn Model> {
        match self {
            Self::Mlp => Box::new(Mlp::paper(kernel)),
            Self::Cnn => Box::new(Cnn::paper(kernel)),
        }
    }

    /// Returns the images the network takes.
    #[must_use]
    pub const fn images(self) -> Shape {
        match self {
            Self::Mlp => Shape::MNIST,
            Self::Cnn => Shape::CIFAR10,
        }
    }
}
