//! A profile at one clock, as books use it.

use gleaner_shared::energy::ComputeModel;
use gleaner_shared::units::{NanoWatts, PicoJoules};

use super::{Profile, ProfileError};
use crate::fit::Kind;

/// What everything costs at one clock, in SI units; what was not measured is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// All that is drawn for a cycle of computing, idling included.
    pub cycle_j: f64,
    /// Power asleep.
    pub sleep_w: Option<f64>,
    /// Power awake without work.
    pub idle_w: Option<f64>,
    /// Power while hearing, without the bytes.
    pub receive_w: Option<f64>,
    /// Energy of a byte heard.
    pub receive_byte_j: f64,
    /// Power while sending, without the bytes.
    pub transmit_w: Option<f64>,
    /// Energy of a byte sent.
    pub transmit_byte_j: f64,
}

/// Clocks this close are the same.
const SAME: f64 = 1e-3;

impl Profile {
    /// Returns what work costs at a clock: as measured, or between two measured clocks by the power
    /// law through both.
    ///
    /// # Errors
    /// A clock outside the measured ones.
    pub fn costs(&self, clock_hz: f64) -> Result<Costs, ProfileError> {
        let (below, above, share) = self.neighbours(clock_hz)?;
        let known = |kind: Kind| {
            let at = |clock: u32| self.coefficients.value(kind, clock);
            Some(at(below)? + share * (at(above)? - at(below)?))
        };
        let cycle = |clock: u32| self.coefficients.value(Kind::Cycle, clock).unwrap_or(0.0);
        let (low, high) = (cycle(below), cycle(above));
        let above_idling = if below == above {
            low
        } else if low > 0.0 && high > 0.0 {
            let along =
                (clock_hz / f64::from(below)).ln() / (f64::from(above) / f64::from(below)).ln();
            low * (high / low).powf(along)
        } else {
            low + share * (high - low)
        };
        Ok(Costs {
            cycle_j: above_idling + known(Kind::Idle).unwrap_or(0.0) / clock_hz,
            sleep_w: known(Kind::Sleep),
            idle_w: known(Kind::Idle),
            receive_w: known(Kind::Receive),
            receive_byte_j: known(Kind::ReceiveByte).unwrap_or(0.0),
            transmit_w: known(Kind::Transmit),
            transmit_byte_j: known(Kind::TransmitByte).unwrap_or(0.0),
        })
    }

    /// Returns the clocks at which computing was measured, slowest first.
    #[must_use]
    pub fn clocks_hz(&self) -> Vec<u32> {
        let cycles = self
            .coefficients
            .terms
            .iter()
            .filter(|term| term.kind == Kind::Cycle);
        let mut clocks: Vec<u32> = cycles.filter_map(|term| term.clock_hz).collect();
        clocks.sort_unstable();
        clocks
    }

    /// Returns the measured clocks around one, and how far between them it is.
    fn neighbours(&self, clock_hz: f64) -> Result<(u32, u32, f64), ProfileError> {
        let clocks = self.clocks_hz();
        let near = |clock: &u32| (clock_hz / f64::from(*clock) - 1.0).abs() < SAME;
        if let Some(&clock) = clocks.iter().find(|clock| near(clock)) {
            return Ok((clock, clock, 0.0));
        }
        let around = clocks
            .windows(2)
            .find(|pair| f64::from(pair[0]) < clock_hz && clock_hz < f64::from(pair[1]));
        match around {
            Some(&[below, above]) => {
                let share = (clock_hz - f64::from(below)) / f64::from(above - below);
                Ok((below, above, share))
            }
            _ => Err(ProfileError::Clock {
                asked: format!("{}", clock_hz / 1e6),
                measured: (clocks.iter())
                    .map(|&clock| format!("{}", f64::from(clock) / 1e6))
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
        }
    }
}

impl Costs {
    /// Returns the cost of computing as the books count it: whole femtojoules a cycle.
    #[must_use]
    pub fn compute(&self) -> ComputeModel {
        ComputeModel {
            femtojoules_per_cycle: whole(self.cycle_j, 1e15),
            per_epoch: PicoJoules::ZERO,
        }
    }

    /// Returns a power in whole nanowatts; what was not measured is an error that names it.
    ///
    /// # Errors
    /// The name.
    pub fn nanowatts(power_w: Option<f64>, name: &'static str) -> Result<NanoWatts, ProfileError> {
        let power_w = power_w.ok_or(ProfileError::Unknown(name))?;
        Ok(NanoWatts(whole(power_w, 1e9)))
    }
}

/// `as` saturates: below zero and not a number become zero.
fn whole(value: f64, scale: f64) -> u64 {
    (value * scale).round() as u64
}
