//! The systems of the paper's presets, for the tests of the optimiser.
// No test file uses all of them.
#![allow(dead_code)]

use gleaner_cre::system::System;
use gleaner_sim::round::settings;
use gleaner_sim::scenario::resolve;

/// The perceptron on MNIST.
pub fn mlp() -> System {
    of("paper-mlp")
}

/// The convolutional network on CIFAR-10.
pub fn cnn() -> System {
    of("paper-cnn")
}

fn of(preset: &str) -> System {
    settings::system(&resolve(preset, &[]).expect("the preset is a scenario"))
}
