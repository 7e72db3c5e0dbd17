//! The crash report of a board.

use core::fmt;

use heapless::String;

use crate::{wire_enum, wire_struct};

/// Length of a source location, cut at its front.
pub const PLACE_BYTES: usize = 48;
/// Length of a panic message, cut at its end.
const MESSAGE_BYTES: usize = 96;

wire_enum! {
    /// The cause of a reset.
    #[derive(Copy)]
    pub enum ResetCause {
        PowerOn,
        /// The supply voltage fell too low, but the RAM kept its content.
        BrownOut,
        Pin,
        Debugger,
        /// Intended by the program.
        Software,
        /// The watchdog: the program made no progress.
        Watchdog,
        Panic,
        HardFault,
    }
}

impl ResetCause {
    /// Returns whether the reset was not intended.
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
    /// A crash report, with what the board could determine.
    pub struct Crash {
        pub cause: ResetCause,
        /// Starts since the last power cut, this one included.
        pub boots: u32,
        /// Source location of a panic, as `file:line`.
        pub place: String<PLACE_BYTES>,
        /// Message of a panic.
        pub message: String<MESSAGE_BYTES>,
        /// Address of a fault; zero if unknown, as after a stack overflow.
        pub pc: u32,
        /// Return address of the faulting function; zero if unknown.
        pub lr: u32,
    }
}
