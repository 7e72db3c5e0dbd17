//! Physical quantities in double precision: one type per unit, linear and logarithmic apart.
//!
//! Public functions take and return these; formulas inside work on plain numbers whose names end
//! in the unit. Integer quantities that devices share live in `gleaner_shared::units`.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! units {
    ($($(#[$doc:meta])* $name:ident, $suffix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{} ", $suffix), self.0)
            }
        }
    )*};
}

units! {
    /// Power in watts, linear.
    Watts, "W";
    /// Power relative to one milliwatt, logarithmic.
    Dbm, "dBm";
    /// A power ratio, logarithmic.
    Db, "dB";
    /// A power ratio, linear: received over radiated power of a channel.
    Gain, "(linear)";
    /// Power spectral density of noise.
    WattsPerHertz, "W/Hz";
    /// Frequency or bandwidth in hertz.
    Hertz, "Hz";
    /// Carrier frequency in the unit of the path-loss formula.
    Gigahertz, "GHz";
    /// Duration or time in seconds.
    Seconds, "s";
    /// Amount of energy in joules.
    Joules, "J";
    /// Length of a model on the air.
    Bits, "bit";
    /// Transmission rate in bits per second.
    BitsPerSecond, "bit/s";
    /// Length or distance in metres.
    Metres, "m";
}

impl Dbm {
    /// Returns the power in watts: 10^((dBm - 30)/10).
    #[must_use]
    pub fn to_watts(self) -> Watts {
        Watts(libm::pow(10.0, (self.0 - 30.0) / 10.0))
    }
}

impl Db {
    /// Returns the linear ratio: 10^(dB/10).
    #[must_use]
    pub fn to_linear(self) -> Gain {
        Gain(libm::pow(10.0, self.0 / 10.0))
    }
}

impl Gain {
    /// Returns the ratio in decibels: 10 lg(gain).
    #[must_use]
    pub fn to_db(self) -> Db {
        Db(10.0 * libm::log10(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_power_limit_is_199_526_milliwatts() {
        assert!((Dbm(23.0).to_watts().0 - 0.199_526_231_496_888).abs() < 1e-15);
    }

    #[test]
    fn decibels_and_ratios_are_inverse() {
        assert!((Gain(0.025).to_db().to_linear().0 - 0.025).abs() < 1e-16);
        assert!((Db(65.0).to_linear().0 / 3_162_277.660_168_379 - 1.0).abs() < 1e-14);
    }
}
