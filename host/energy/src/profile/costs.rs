//! Costs of a profile at one clock, and random profiles within its uncertainty.

use gleaner_shared::energy::ComputeModel;
use gleaner_shared::rng::Rng;
use gleaner_shared::units::{NanoWatts, PicoJoules};

use super::{Profile, ProfileError};
use crate::fit::Kind;
use crate::fit::matrix::Square;

/// Costs at one clock. Powers that were not measured are `None`; powers of receive and transmit do
/// not include the energy of the bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Costs {
    /// Energy per cycle of computing, idle power included.
    pub cycle_j: f64,
    pub sleep_w: Option<f64>,
    pub idle_w: Option<f64>,
    pub receive_w: Option<f64>,
    pub receive_byte_j: f64,
    pub transmit_w: Option<f64>,
    pub transmit_byte_j: f64,
}

/// Relative difference below which two clocks count as equal.
const SAME: f64 = 1e-3;

impl Profile {
    /// Returns the costs at a clock: as measured, or between two measured clocks by the power law
    /// through both.
    ///
    /// # Errors
    /// Returns [`ProfileError::Clock`] for a clock outside the measured range.
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

    /// Returns the measured clocks around a clock, and its relative position between them.
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
    /// Returns the cost of computing as boards book it: whole femtojoules per cycle.
    #[must_use]
    pub fn compute(&self) -> ComputeModel {
        ComputeModel {
            femtojoules_per_cycle: whole(self.cycle_j, 1e15),
            per_epoch: PicoJoules::ZERO,
        }
    }

    /// Returns a power in whole nanowatts.
    ///
    /// # Errors
    /// Returns [`ProfileError::Unknown`] with the name of a power that was not measured.
    pub fn nanowatts(power_w: Option<f64>, name: &'static str) -> Result<NanoWatts, ProfileError> {
        let power_w = power_w.ok_or(ProfileError::Unknown(name))?;
        Ok(NanoWatts(whole(power_w, 1e9)))
    }
}

/// Rounds to a whole number; negative values and NaN become zero.
fn whole(value: f64, scale: f64) -> u64 {
    (value * scale).round() as u64
}

impl Profile {
    /// Returns the profile with coefficients drawn from the normal distribution of their covariance,
    /// at least zero.
    #[must_use]
    pub fn draw(&self, rng: &mut Rng) -> Self {
        let covariance = &self.coefficients.covariance;
        let deviations: Vec<f64> = (0..covariance.size())
            .map(|at| covariance.at(at, at).max(0.0).sqrt())
            .collect();
        let normals: Vec<f64> = deviations.iter().map(|_| normal(rng)).collect();
        let mut drawn = self.clone();
        let Some(lower) = correlation(covariance).and_then(|it| it.cholesky(0.0).ok()) else {
            return drawn;
        };
        for (row, value) in drawn.coefficients.values.iter_mut().enumerate() {
            let off: f64 = (0..=row).map(|k| lower.at(row, k) * normals[k]).sum();
            *value = (*value + deviations[row] * off).max(0.0);
        }
        drawn
    }
}

/// Returns the correlations, with a slightly larger diagonal against rounding errors, or `None` if
/// the matrix is no covariance.
pub(super) fn correlation(covariance: &Square) -> Option<Square> {
    const EXTRA: f64 = 1e-9;
    let size = covariance.size();
    let mut correlation = Square::zeros(size);
    for row in 0..size {
        for column in 0..size {
            let scale = (covariance.at(row, row) * covariance.at(column, column)).sqrt();
            let cell = if row == column {
                1.0 + EXTRA
            } else if scale > 0.0 {
                covariance.at(row, column) / scale
            } else {
                0.0
            };
            correlation.set(row, column, cell);
        }
    }
    correlation.cholesky(0.0).ok().map(|_| correlation)
}

/// Draws from the standard normal distribution (Box and Muller, 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.uniform()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.uniform()).cos()
}
