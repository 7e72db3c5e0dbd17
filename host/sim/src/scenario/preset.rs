//! The presets: named scenarios, each a short TOML file of what differs from the defaults.

/// A scenario that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name on the command line.
    pub name: &'static str,
    /// Purpose of the preset in one line.
    pub about: &'static str,
    /// Its differences from the defaults, or from the preset it names, as TOML.
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
        name: "printed-cnn",
        about: "CIFAR-10 with every value and rule exactly as printed, to show the difference",
        toml: include_str!("presets/printed-cnn.toml"),
    },
    Preset {
        name: "rp2040",
        about: "MNIST on ten Raspberry Pi Picos, with the cycles counted in their emulator",
        toml: include_str!("presets/rp2040.toml"),
    },
    Preset {
        name: "rp2040-as-if-lightsleep",
        about: "the same on a small panel, as if the image slept with its PLLs off, which it does not",
        toml: include_str!("presets/rp2040-as-if-lightsleep.toml"),
    },
    Preset {
        name: "rp2350",
        about: "MNIST on ten Raspberry Pi Pico 2s, with the cycles of a Cortex-M4: not measured",
        toml: include_str!("presets/rp2350.toml"),
    },
    Preset {
        name: "stm32l4r5",
        about: "MNIST on ten Nucleo-L4R5ZIs, with the cycles counted in an emulated one",
        toml: include_str!("presets/stm32l4r5.toml"),
    },
    Preset {
        name: "stm32l4r5-as-if-stop2",
        about: "the same in an office, as if the image slept in Stop 2, which it does not",
        toml: include_str!("presets/stm32l4r5-as-if-stop2.toml"),
    },
    Preset {
        name: "stm32l496",
        about: "MNIST on ten Nucleo-L496ZGs, with the cycles of a Cortex-M4: not measured",
        toml: include_str!("presets/stm32l496.toml"),
    },
    Preset {
        name: "m4",
        about: "MNIST on ten of QEMU's Cortex-M4s, with the instructions they take for cycles",
        toml: include_str!("presets/m4.toml"),
    },
    Preset {
        name: "demo",
        about: "MNIST on four boards of 100 samples that live on what they harvest; for `emulate`",
        toml: include_str!("presets/demo.toml"),
    },
    Preset {
        name: "har",
        about: "exercises of ten people with a watch, each a client with their own (192-50-7)",
        toml: include_str!("presets/har.toml"),
    },
    Preset {
        name: "digits",
        about: "digits of 8 x 8 pixels for parts with little memory (64-32-10)",
        toml: include_str!("presets/digits.toml"),
    },
    Preset {
        name: "har-rp2040",
        about: "the task of `har` on ten Raspberry Pi Picos",
        toml: include_str!("presets/har-rp2040.toml"),
    },
    Preset {
        name: "har-stm32l4r5",
        about: "the task of `har` on ten Nucleo-L4R5ZIs",
        toml: include_str!("presets/har-stm32l4r5.toml"),
    },
    Preset {
        name: "digits-rp2040",
        about: "the task of `digits` on ten Raspberry Pi Picos",
        toml: include_str!("presets/digits-rp2040.toml"),
    },
    Preset {
        name: "digits-stm32l4r5",
        about: "the task of `digits` on ten Nucleo-L4R5ZIs",
        toml: include_str!("presets/digits-stm32l4r5.toml"),
    },
    Preset {
        name: "fashion-mnist",
        about: "Fashion-MNIST on the perceptron, in the setting of paper-mlp",
        toml: include_str!("presets/fashion-mnist.toml"),
    },
];
