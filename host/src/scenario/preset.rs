//! The presets: named scenarios, each a short TOML file of what differs from the defaults.

/// A named scenario.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Its differences from the defaults, as TOML.
    pub toml: &'static str,
}

/// Every preset, the default one first.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "paper-mlp",
        about: "MNIST on the perceptron; the paper's setting with an energy income that binds",
        toml: include_str!("presets/paper-mlp.toml"),
    },
    Preset {
        name: "paper-cnn",
        about: "CIFAR-10 on the convolutional network",
        toml: include_str!("presets/paper-cnn.toml"),
    },
    Preset {
        name: "printed-mlp",
        about: "MNIST with every value and rule exactly as printed, to show the difference",
        toml: include_str!("presets/printed-mlp.toml"),
    },
    Preset {
        name: "rp2040",
        about: "MNIST on ten Raspberry Pi Picos, with the cycles counted in their emulator",
        toml: include_str!("presets/rp2040.toml"),
    },
    Preset {
        name: "stm32l4r5",
        about: "MNIST on ten Nucleo-L4R5ZIs, with the instructions counted in an emulated Cortex-M4",
        toml: include_str!("presets/stm32l4r5.toml"),
    },
];

#[cfg(test)]
mod tests {
    use crate::round::settings::epoch_cost;
    use crate::scenario::resolve;

    #[test]
    fn several_epochs_of_a_board_fit_its_round_and_cost_what_one_round_brings_or_more() {
        for (board, watts) in [("rp2040", 0.0825), ("stm32l4r5", 0.04356)] {
            let scenario = resolve(board, &[]).unwrap();
            let (seconds, joules) = epoch_cost(&scenario, 1000);
            assert!((joules / seconds / watts - 1.0).abs() < 1e-3, "{board}");
            assert!(5.0 * seconds < scenario.device.deadline_s, "{board}");
            assert!(
                joules > 0.5 * scenario.device.harvest_j,
                "{board}: energy binds"
            );
        }
    }
}
