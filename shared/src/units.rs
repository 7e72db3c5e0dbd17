//! Integer physical quantities: every type names its scale.
//!
//! Devices and host agree to the unit because both count in these integers; the host has its own
//! floating-point quantities.

use core::fmt;

use serde::{Deserialize, Serialize};

macro_rules! integer_unit {
    ($(#[$doc:meta])* $name:ident, $suffix:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub struct $name(pub u64);

        impl $name {
            /// The amount zero.
            pub const ZERO: Self = Self(0);
            /// The largest representable amount.
            pub const MAX: Self = Self(u64::MAX);

            /// Adds, or returns `None` if the sum does not fit.
            #[must_use]
            pub const fn checked_add(self, other: Self) -> Option<Self> {
                match self.0.checked_add(other.0) {
                    Some(sum) => Some(Self(sum)),
                    None => None,
                }
            }

            /// Adds, stopping at [`Self::MAX`].
            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// Subtracts, stopping at zero.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{} ", $suffix), self.0)
            }
        }
    };
}

integer_unit!(
    /// Energy in picojoules: one RP2040 cycle costs about 660 of them, and 64 bits hold 18 MJ.
    PicoJoules,
    "pJ"
);
integer_unit!(
    /// Power in nanowatts.
    NanoWatts,
    "nW"
);
integer_unit!(
    /// Time in microseconds.
    Micros,
    "us"
);
integer_unit!(
    /// Processor cycles.
    Cycles,
    "cycles"
);
integer_unit!(
    /// Clock frequency in hertz.
    HertzInt,
    "Hz"
);

impl PicoJoules {
    /// Converts from microjoules, stopping at [`Self::MAX`].
    #[must_use]
    pub const fn from_microjoules(microjoules: u64) -> Self {
        Self(microjoules.saturating_mul(1_000_000))
    }

    /// Returns the nearest double to the amount in joules, below 2^53 pJ.
    #[must_use]
    pub const fn as_joules(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Converts from joules, rounding to the nearest picojoule; negative and NaN become zero,
    /// and what does not fit becomes [`Self::MAX`].
    #[must_use]
    pub const fn from_joules(joules: f64) -> Self {
        // `as` saturates and maps NaN to zero.
        Self((joules * 1e12 + 0.5) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joules_round_to_the_nearest_picojoule() {
        assert_eq!(PicoJoules::from_joules(0.0004), PicoJoules(400_000_000));
        assert_eq!(PicoJoules::from_joules(1.6e-12), PicoJoules(2));
        assert_eq!(PicoJoules::from_joules(-1.0), PicoJoules::ZERO);
        assert_eq!(PicoJoules::from_joules(f64::NAN), PicoJoules::ZERO);
        assert_eq!(PicoJoules::from_joules(1e9), PicoJoules::MAX);
    }
}
