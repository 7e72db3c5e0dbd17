//! Systems of the paper's presets.

use gleaner_cre::system::System;
use gleaner_sim::round::settings;
use gleaner_sim::scenario::resolve;

pub fn mlp() -> System {
    of("paper-mlp")
}

pub fn cnn() -> System {
    of("paper-cnn")
}

fn of(preset: &str) -> System {
    settings::system(&resolve(preset, &[]).expect("the preset is a scenario"))
}
