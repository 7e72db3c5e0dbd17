//! The known profile of a synthetic trace, which a fit should recover.

use gleaner_shared::energy::Phase;
use serde::{Deserialize, Serialize};

use crate::InputError;
use crate::mark::Mark;

/// Exact costs of a synthetic board.
///
/// The energy of a mark that lasts `t` seconds is `power_w.of(phase) * t + cycle.joules_at(clk) *
/// cycles + byte_j.of(phase) * bytes`, spread evenly over `t`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    /// Supply voltage of the board.
    pub voltage_v: f64,
    /// Power in each phase, independent of clock and work.
    pub power_w: Powers,
    /// Energy per processor cycle.
    pub cycle: Cycle,
    /// Energy per byte received or transmitted.
    pub byte_j: Bytes,
}

/// Power in watts by phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of the phases")]
pub struct Powers {
    pub sleep: f64,
    pub idle: f64,
    pub receive: f64,
    pub apply: f64,
    pub train: f64,
    pub evaluate: f64,
    pub encode: f64,
    pub transmit: f64,
}

impl Powers {
    /// Returns the power of a phase.
    #[must_use]
    pub const fn of(&self, phase: Phase) -> f64 {
        match phase {
            Phase::Sleep => self.sleep,
            Phase::Idle => self.idle,
            Phase::Receive => self.receive,
            Phase::Apply => self.apply,
            Phase::Train => self.train,
            Phase::Evaluate => self.evaluate,
            Phase::Encode => self.encode,
            Phase::Transmit => self.transmit,
        }
    }
}

/// Energy of a cycle: `joules * (f / at_hz)^exponent`; the paper's form has the exponent 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cycle {
    /// Energy of a cycle at the clock `at_hz`.
    pub joules: f64,
    /// Clock at which a cycle costs `joules`.
    pub at_hz: f64,
    /// Exponent of the growth with the clock.
    pub exponent: f64,
}

impl Cycle {
    /// Returns the energy of a cycle at a clock.
    #[must_use]
    pub fn joules_at(&self, clk_hz: u32) -> f64 {
        self.joules * libm::pow(f64::from(clk_hz) / self.at_hz, self.exponent)
    }
}

/// Energy in joules of a byte received and of one transmitted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of the phases")]
pub struct Bytes {
    pub receive: f64,
    pub transmit: f64,
}

impl Bytes {
    /// Returns the energy of a byte in a phase; zero in phases without transfer.
    #[must_use]
    pub const fn of(&self, phase: Phase) -> f64 {
        match phase {
            Phase::Receive => self.receive,
            Phase::Transmit => self.transmit,
            _ => 0.0,
        }
    }
}

impl Default for Truth {
    /// Returns a board similar to an RP2040: 1 mW asleep, 20 mW awake, 0.3 nJ per cycle at 125 MHz.
    ///
    /// All phases that compute draw the same power beside their cycles. The values are not measured.
    fn default() -> Self {
        let awake = 20e-3;
        Self {
            voltage_v: 3.3,
            power_w: Powers {
                sleep: 1e-3,
                idle: awake,
                receive: 35e-3,
                apply: awake,
                train: awake,
                evaluate: awake,
                encode: awake,
                transmit: 45e-3,
            },
            cycle: Cycle {
                joules: 0.3e-9,
                at_hz: 125e6,
                exponent: 2.0,
            },
            byte_j: Bytes {
                receive: 0.4e-6,
                transmit: 0.9e-6,
            },
        }
    }
}

impl Truth {
    /// Returns the energy of a mark of the given duration.
    #[must_use]
    pub fn energy_j(&self, mark: &Mark, seconds: f64) -> f64 {
        self.power_w.of(mark.phase) * seconds + self.work_j(mark)
    }

    /// Returns the energy of a mark's cycles and bytes.
    #[must_use]
    pub fn work_j(&self, mark: &Mark) -> f64 {
        self.cycle.joules_at(mark.clk_hz) * mark.cycles as f64
            + self.byte_j.of(mark.phase) * f64::from(mark.bytes)
    }

    /// Parses costs from TOML and checks them.
    ///
    /// # Errors
    /// Returns the first invalid key.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let truth: Self = toml::from_str(text).map_err(|error| InputError(error.to_string()))?;
        let bad =
            |key: &str, value: f64| Err(InputError(format!("{key} = {value}: out of its range")));
        for phase in Phase::ALL {
            let watts = truth.power_w.of(phase);
            if !(0.0..=100.0).contains(&watts) {
                return bad(&format!("power_w.{}", phase.name()), watts);
            }
        }
        for (key, value) in [
            ("cycle.joules", truth.cycle.joules),
            ("byte_j.receive", truth.byte_j.receive),
            ("byte_j.transmit", truth.byte_j.transmit),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return bad(key, value);
            }
        }
        if !(truth.voltage_v > 0.0 && truth.voltage_v <= 60.0) {
            return bad("voltage_v", truth.voltage_v);
        }
        if !(truth.cycle.at_hz > 0.0 && truth.cycle.at_hz.is_finite()) {
            return bad("cycle.at_hz", truth.cycle.at_hz);
        }
        if !(-4.0..=4.0).contains(&truth.cycle.exponent) {
            return bad("cycle.exponent", truth.cycle.exponent);
        }
        Ok(truth)
    }
}
