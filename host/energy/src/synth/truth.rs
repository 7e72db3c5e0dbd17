//! The profile that a synthetic trace is made from: what a fit should find.

use gleaner_shared::energy::Phase;
use serde::{Deserialize, Serialize};

use crate::mark::Mark;

/// What a board draws, exactly.
///
/// The energy of a mark that lasts `t` seconds is `power_w.of(phase) * t + cycle.joules_at(clk) *
/// cycles + byte_j.of(phase) * bytes`, spread evenly over `t`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    /// What the board is supplied with.
    pub voltage_v: f64,
    /// Power drawn in each phase, whatever the clock and whatever is done.
    pub power_w: Powers,
    /// Energy of a processor cycle.
    pub cycle: Cycle,
    /// Energy of a byte.
    pub byte_j: Bytes,
}

/// Watts by phase.
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

/// Joules of a cycle: `joules * (f / at_hz)^exponent`; the paper's form has the exponent 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cycle {
    /// What a cycle costs at the clock `at_hz`.
    pub joules: f64,
    /// The clock of `joules`.
    pub at_hz: f64,
    /// How that grows with the clock.
    pub exponent: f64,
}

impl Cycle {
    /// Returns what a cycle costs at a clock.
    #[must_use]
    pub fn joules_at(&self, clk_hz: u32) -> f64 {
        self.joules * libm::pow(f64::from(clk_hz) / self.at_hz, self.exponent)
    }
}

/// Joules of a byte received and of one sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of the phases")]
pub struct Bytes {
    pub receive: f64,
    pub transmit: f64,
}

impl Bytes {
    /// Returns what a byte costs in a phase; nothing where none travels.
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
    /// A board of an RP2040's kind: 1 mW asleep, 20 mW awake, 0.3 nJ a cycle at 125 MHz.
    ///
    /// All that computes draws the same besides its cycles; made up, not measured.
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
    /// Returns what a mark costs that lasts so long.
    #[must_use]
    pub fn energy_j(&self, mark: &Mark, seconds: f64) -> f64 {
        self.power_w.of(mark.phase) * seconds + self.work_j(mark)
    }

    /// Returns what a mark costs however long it lasts.
    #[must_use]
    pub fn work_j(&self, mark: &Mark) -> f64 {
        self.cycle.joules_at(mark.clk_hz) * mark.cycles as f64
            + self.byte_j.of(mark.phase) * f64::from(mark.bytes)
    }

    /// Reads a truth and checks it.
    ///
    /// # Errors
    /// Which key is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let truth: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let bad = |key: &str, value: f64| Err(format!("{key} = {value}: not a number from 0 on"));
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
            return Err(format!(
                "cycle.exponent = {}: not between -4 and 4",
                truth.cycle.exponent
            ));
        }
        Ok(truth)
    }
}
