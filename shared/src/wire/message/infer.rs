//! What a board says of single samples.

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
        /// Its class, by the model.
        pub class: u8,
        /// How sure the model is, times 2^16.
        pub confidence_q16: u32,
        /// What the sample is labelled, if it is.
        pub label: Option<u8>,
        /// Cycles it took.
        pub cycles: Cycles,
        /// The model that was asked.
        pub model: ModelHash,
    }
}

wire_enum! {
    /// Why a sample is not classified or labelled.
    #[derive(Copy)]
    pub enum InferRefusal {
        /// The board holds no model.
        NoModel,
        /// A sample has another length.
        Size {
            /// Its bytes.
            expected: u32,
        },
        /// The board trains, or has another question open.
        Busy,
        /// There is no such sample.
        NoSample {
            /// Where it was looked for.
            place: SamplePlace,
            /// The oldest that is there.
            first: u32,
            /// How many are.
            count: u32,
        },
        /// The label is no class.
        Label {
            /// How many classes there are.
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
