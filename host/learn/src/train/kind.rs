//! The networks by name, and their permitted sizes.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::{Cnn, Kernel, Mlp, Model, Perceptron};
use crate::data::Shape;

/// The network that is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ModelKind {
    /// perceptron of one or two hidden layers; 784-50-10 in the paper, 39,760 parameters
    Mlp,
    /// two 5x5 convolutions and three dense layers, 576,778 parameters
    Cnn,
}

/// The most units of a hidden layer.
pub const MOST_HIDDEN: usize = 1024;
/// The most classes: a label is a byte.
pub const MOST_CLASSES: usize = 256;

/// A network that does not exist for these samples.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The convolutional network needs images of `expected` bytes and 10 classes.
    #[error(
        "samples of {found} bytes with {classes} classes; learning.model = \"cnn\" takes images of \
         {expected} bytes with 10 (data.dataset = \"cifar10\"), \"mlp\" takes any"
    )]
    Images {
        found: usize,
        classes: usize,
        expected: usize,
    },
    /// The sizes of a perceptron, as `784-50-10`, are not supported.
    #[error(
        "a perceptron of {sizes}: one or two hidden layers of 1 to {MOST_HIDDEN} units and 2 to \
         {MOST_CLASSES} classes are supported"
    )]
    Sizes { sizes: String },
}

impl ModelKind {
    /// Returns the network of the paper.
    #[must_use]
    pub fn paper(self, kernel: Kernel) -> Box<dyn Model> {
        match self {
            Self::Mlp => Box::new(Mlp::paper(kernel)),
            Self::Cnn => Box::new(Cnn::paper(kernel)),
        }
    }

    /// Returns the network for samples of `inputs` bytes and `classes` classes; `hidden` are the
    /// units of a perceptron's hidden layers.
    ///
    /// # Errors
    /// When there is no such network.
    pub fn network(
        self,
        inputs: usize,
        hidden: &[usize],
        classes: usize,
        kernel: Kernel,
    ) -> Result<Box<dyn Model>, NetworkError> {
        match (self, hidden) {
            (Self::Cnn, _) if (inputs, classes) != (Shape::CIFAR10.bytes(), 10) => {
                Err(NetworkError::Images {
                    found: inputs,
                    classes,
                    expected: Shape::CIFAR10.bytes(),
                })
            }
            (Self::Cnn, _) => Ok(self.paper(kernel)),
            (Self::Mlp, hidden) => {
                let good = (1..=2).contains(&hidden.len())
                    && hidden.iter().all(|it| (1..=MOST_HIDDEN).contains(it))
                    && (2..=MOST_CLASSES).contains(&classes)
                    && inputs > 0;
                match hidden {
                    _ if !good => Err(NetworkError::Sizes {
                        sizes: sizes(inputs, hidden, classes),
                    }),
                    &[units] if Mlp::has_lanes_for(units, classes) => {
                        Ok(Box::new(Mlp::new(inputs, units, classes, kernel)))
                    }
                    hidden => Ok(Box::new(Perceptron::new(inputs, hidden, classes, kernel))),
                }
            }
        }
    }

    /// Returns the shape of the images that the network has in the paper.
    #[must_use]
    pub const fn images(self) -> Shape {
        match self {
            Self::Mlp => Shape::MNIST,
            Self::Cnn => Shape::CIFAR10,
        }
    }
}

/// Writes the sizes of a perceptron as `784-50-10`.
#[must_use]
pub fn sizes(inputs: usize, hidden: &[usize], classes: usize) -> String {
    let all = [&[inputs], hidden, &[classes]].concat();
    let words: Vec<String> = all.iter().map(ToString::to_string).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(kind: ModelKind, inputs: usize, hidden: &[usize], classes: usize) -> usize {
        let kernel = Kernel::available()[0];
        kind.network(inputs, hidden, classes, kernel)
            .map_or(0, |network| network.parameters())
    }

    #[test]
    fn networks_of_permitted_sizes_are_made_and_others_refused() {
        let mlp = |inputs, hidden, classes| parameters(ModelKind::Mlp, inputs, hidden, classes);
        assert_eq!(mlp(784, &[50], 10), 39_760);
        assert_eq!(mlp(192, &[50], 7), 10_007);
        assert_eq!(mlp(784, &[100], 10), 79_510);
        assert_eq!(mlp(64, &[32, 16], 10), 2_778);
        assert_eq!(mlp(3, &[70], 20), 1_700);
        assert_eq!(parameters(ModelKind::Cnn, 3_072, &[50], 10), 576_778);
        for (inputs, hidden, classes) in [
            (0, &[5][..], 2),
            (9, &[], 2),
            (9, &[0], 2),
            (9, &[1_025], 2),
            (9, &[5, 5, 5], 2),
            (9, &[5], 1),
            (9, &[5], 257),
        ] {
            assert_eq!(mlp(inputs, hidden, classes), 0);
        }
        let kernel = Kernel::available()[0];
        let refusal = |kind: ModelKind, hidden: &[usize]| {
            let network = kind.network(192, hidden, 7, kernel);
            network.map(|_| ()).unwrap_err()
        };
        let sizes = "192-2000-7".to_owned();
        assert_eq!(
            refusal(ModelKind::Mlp, &[2_000]),
            NetworkError::Sizes { sizes }
        );
        let (found, classes, expected) = (192, 7, 3_072);
        let images = NetworkError::Images {
            found,
            classes,
            expected,
        };
        assert_eq!(refusal(ModelKind::Cnn, &[50]), images);
    }
}
