//! What a board is told, and says, while its current is measured.

use core::fmt;

use crate::energy::Phase;
use crate::units::{Cycles, Micros};
use crate::{wire_enum, wire_struct};

wire_enum! {
    /// One step of a measurement.
    #[derive(Copy)]
    pub enum MeasureStep {
        /// From now on pins show the phase, marks are told, and the lamp stays dark.
        Begin,
        /// All that ends, and the processor's clock is as at the start.
        End,
        /// Sets the processor's clock.
        Clock {
            /// What it is to be, in hertz.
            hz: u32,
        },
        /// Trains on the local samples, from the model the board holds.
        Train {
            /// How many epochs.
            epochs: u16,
        },
        /// Finds the loss of that model on the local samples.
        Evaluate,
        /// Codes a change of that model.
        Encode {
            /// Bits per weight: 8 or 16.
            bits: u8,
        },
        /// Brings the model up to date with a change, which changes nothing.
        Apply {
            /// Bits per weight: 8 or 16.
            bits: u8,
        },
        /// Waits, awake or asleep.
        Wait {
            /// How deep.
            state: Phase,
            /// How long.
            time: Micros,
        },
    }
}

wire_enum! {
    /// Why a step is not taken.
    #[derive(Copy)]
    pub enum MeasureRefusal {
        /// No measurement was begun in this session.
        NotBegun,
        /// It works for a round.
        Busy,
        /// It has no such clock.
        Clock {
            /// The one it goes on with, in hertz.
            hz: u32,
        },
        /// It holds no model.
        NoModel,
        /// It has no samples.
        NoSamples,
        /// A field is out of range.
        Invalid,
    }
}

impl fmt::Display for MeasureRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBegun => f.write_str("no measurement was begun in this session"),
            Self::Busy => f.write_str("the board works for a round: end the run first"),
            Self::Clock { hz } => write!(
                f,
                "the board cannot set that clock and stays at {hz} Hz: leave the clock out of the plan"
            ),
            Self::NoModel => f.write_str("the board holds no model"),
            Self::NoSamples => f.write_str("the board has no samples: flash a shard first"),
            Self::Invalid => f.write_str("a field of the step is out of range"),
        }
    }
}

impl core::error::Error for MeasureRefusal {}

wire_struct! {
    /// One phase of a measured board, told when it is over. It lasted to the next mark's `t_us`.
    #[derive(Copy)]
    pub struct Mark {
        /// Number of the mark, from 0; a gap means that one was lost.
        pub seq: u32,
        /// What the board did.
        pub phase: Phase,
        /// When it began, by the board's own clock.
        pub t_us: Micros,
        /// Cycles it took; 0 while it waits.
        pub cycles: Cycles,
        /// Samples worked on.
        pub samples: u32,
        /// Bytes received or sent.
        pub bytes: u32,
        /// The processor's clock meanwhile, in hertz.
        pub clk_hz: u32,
    }
}

wire_struct! {
    /// What feeds the board; follows [`DeviceToHost::Stack`](super::DeviceToHost::Stack).
    #[derive(Copy)]
    pub struct Supply {
        /// The voltage of its supply, where it can tell.
        pub millivolts: Option<u16>,
        /// How often its books ran dry: work or waiting that the store could not pay.
        pub brownouts: u32,
    }
}
