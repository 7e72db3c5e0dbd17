//! Classification of single samples.

use core::fmt;

use super::common::{ModelHash, SamplePlace};
use crate::units::Cycles;
use crate::{wire_enum, wire_struct};

wire_struct! {
    /// The class of a sample.
    #[derive(Copy)]
    pub struct Classified {
        /// Hash of the sample's pixels.
        pub sample: ModelHash,
        pub class: u8,
        /// Softmax of the class, times 2^16.
        pub confidence_q16: u32,
        /// The sample's label, if it has one.
        pub label: Option<u8>,
        pub cycles: Cycles,
        /// Hash of the model.
        pub model: ModelHash,
    }
}

wire_enum! {
    /// The reason why a sample is not classified or labelled.
    #[derive(Copy)]
    pub enum InferRefusal {
        NoModel,
        /// The sample has the wrong length.
        Size {
            /// The right length in bytes.
            expected: u32,
        },
        /// The board is training, or has another question open.
        Busy,
        NoSample {
            place: SamplePlace,
            /// Number of the oldest sample.
            first: u32,
            count: u32,
        },
        /// The label is no class.
        Label {
            classes: u16,
        },
    }
}

impl fmt::Display for InferRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoModel => f.write_str(
                "the board holds no model: run rounds with it, or give it one with --deliver",
            ),
            Self::Size { expected } => write!(f, "a sample of this board has {expected} bytes"),
            Self::Busy => f.write_str("the board is training or answers another question"),
            Self::NoSample {
                place, count: 0, ..
            } => write!(f, "the board has no {place} sample"),
            Self::NoSample {
                place,
                first,
                count,
            } => {
                let last = first.saturating_add(count - 1);
                write!(f, "the board has the {place} samples {first} to {last}")
            }
            Self::Label { classes } => {
                write!(f, "classes are 0 to {}", classes.saturating_sub(1))
            }
        }
    }
}

impl core::error::Error for InferRefusal {}
