//! What a device does at a moment, as its books, its marks and its pins name it.

use serde::{Deserialize, Serialize};

/// A phase of a device's round.
///
/// Its [code](Self::code) is what the pins of a measured board show: asleep is zero, so that a
/// sleeping board drives none.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize
)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Phase {
    /// Waiting as deep asleep as the link allows.
    Sleep,
    /// Waiting awake.
    Idle,
    /// Hearing the broadcast.
    Receive,
    /// Bringing the model up to date with what was heard.
    Apply,
    /// Local training.
    Train,
    /// Finding the loss of the trained model.
    Evaluate,
    /// Coding the update.
    Encode,
    /// Sending the update.
    Transmit,
}

impl Phase {
    /// How many there are.
    pub const COUNT: usize = 8;

    /// All phases, in the order of their codes.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Sleep,
        Self::Idle,
        Self::Receive,
        Self::Apply,
        Self::Train,
        Self::Evaluate,
        Self::Encode,
        Self::Transmit,
    ];

    /// Returns the three bits that stand for it.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the phase of a code, or `None` above three bits.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        if (code as usize) < Self::COUNT {
            Some(Self::ALL[code as usize])
        } else {
            None
        }
    }

    /// Returns its name, in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sleep => "sleep",
            Self::Idle => "idle",
            Self::Receive => "receive",
            Self::Apply => "apply",
            Self::Train => "train",
            Self::Evaluate => "evaluate",
            Self::Encode => "encode",
            Self::Transmit => "transmit",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_bits_name_every_phase() {
        for (at, phase) in Phase::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(phase.code()), at);
            assert_eq!(Phase::from_code(phase.code()), Some(phase));
        }
        assert_eq!(Phase::from_code(8), None);
    }
}
