//! How a board came to start again.

use core::fmt;

use heapless::String;

use crate::{wire_enum, wire_struct};

/// Bytes of a place in the source, cut at its front.
pub const PLACE_BYTES: usize = 48;
/// Bytes of a panic's message, cut at its end.
const MESSAGE_BYTES: usize = 96;

wire_enum! {
    /// What reset a board.
    #[derive(Copy)]
    pub enum ResetCause {
        /// The power came.
        PowerOn,
        /// The power fell too low and came back before the RAM forgot.
        BrownOut,
        /// The reset pin.
        Pin,
        /// A debugger.
        Debugger,
        /// The program, as it was told to.
        Software,
        /// The watchdog: the program made no progress.
        Watchdog,
        /// A panic.
        Panic,
        /// A fault of the core.
        HardFault,
    }
}

impl ResetCause {
    /// Tells whether the board was not meant to end so.
    #[must_use]
    pub const fn is_crash(self) -> bool {
        matches!(
            self,
            Self::BrownOut | Self::Watchdog | Self::Panic | Self::HardFault
        )
    }
}

impl fmt::Display for ResetCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PowerOn => "power on",
            Self::BrownOut => "brown-out",
            Self::Pin => "reset pin",
            Self::Debugger => "debugger",
            Self::Software => "software",
            Self::Watchdog => "watchdog",
            Self::Panic => "panic",
            Self::HardFault => "hard fault",
        })
    }
}

wire_struct! {
    /// How a board came to start again, as far as it could say.
    pub struct Crash {
        /// What reset it.
        pub cause: ResetCause,
        /// Starts since its memory was noise, this one included.
        pub boots: u32,
        /// Where in the source it panicked, as `file:line`.
        pub place: String<PLACE_BYTES>,
        /// What the panic said.
        pub message: String<MESSAGE_BYTES>,
        /// Where a fault happened; zero where that is not known, as when the stack overflowed.
        pub pc: u32,
        /// Where the faulting function would have returned to; zero where that is not known.
        pub lr: u32,
    }
}
