//! Messages of a current measurement.

use crate::energy::Phase;
use crate::mlp::UploadCode;
use crate::units::{Cycles, Micros};
use crate::{wire_enum, wire_struct};

wire_enum! {
    /// One step of a measurement.
    #[derive(Copy)]
    pub enum MeasureStep {
        /// Starts the measurement: pins show the phase, marks are sent, and the LED stays off.
        Begin,
        /// Ends the measurement and restores the processor's clock.
        End,
        /// Sets the processor's clock.
        Clock {
            hz: u32,
        },
        /// Trains on the local samples, from the model the board holds.
        Train {
            epochs: u16,
        },
        /// Evaluates the model on the local samples.
        Evaluate,
        /// Codes a change of the model.
        Encode {
            code: UploadCode,
        },
        /// Applies a change of zero to the model.
        Apply {
            /// Bits per weight: 8 or 16.
            bits: u8,
        },
        /// Waits, awake or asleep.
        Wait {
            state: Phase,
            time: Micros,
        },
    }
}

wire_enum! {
    /// The reason why a step is refused.
    #[derive(Copy, thiserror::Error)]
    pub enum MeasureRefusal {
        #[error("no measurement was begun in this session")]
        NotBegun,
        #[error("the board works for a round: end the run first")]
        Busy,
        #[error(
            "the board cannot set that clock and stays at {hz} Hz: leave the clock out of the plan"
        )]
        Clock { hz: u32 },
        #[error("the board holds no model")]
        NoModel,
        #[error("the board has no samples: flash a shard first")]
        NoSamples,
        #[error("a field of the step is out of range")]
        Invalid,
    }
}

wire_struct! {
    /// One phase of a measured board, sent when it is over. It lasted until the next mark's `t_us`.
    #[derive(Copy)]
    pub struct Mark {
        /// Number of the mark, from 0; a gap means a lost mark.
        pub seq: u32,
        pub phase: Phase,
        /// Start of the phase, by the board's clock.
        pub t_us: Micros,
        /// Cycles of work; 0 while waiting.
        pub cycles: Cycles,
        pub samples: u32,
        pub bytes: u32,
        /// The processor's clock, in hertz.
        pub clk_hz: u32,
    }
}

wire_struct! {
    /// State of the board's supply; follows [`DeviceToHost::Stack`](super::DeviceToHost::Stack).
    #[derive(Copy)]
    pub struct Supply {
        /// Supply voltage, if it can be measured.
        pub millivolts: Option<u16>,
        /// Number of brown-outs: work or waiting that the ledger could not pay.
        pub brownouts: u32,
    }
}
