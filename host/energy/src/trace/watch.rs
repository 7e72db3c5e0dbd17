//! What holds of every sample whatever its format: it is a number, and one that a board draws.

use super::error::Kind;

/// More than this and the unit is wrong: what a PPK2 or a Joulescope can measure, and tenfold.
const MOST_A: f64 = 30.0;

/// A mean below this and the unit is wrong: half of what a PPK2 resolves.
const LEAST_MEAN_A: f64 = 1e-7;

/// Volts a board may be supplied with.
const MOST_V: f64 = 60.0;

/// Looks at every sample, and at all of them at the end.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    unit: &'static str,
    trusted: bool,
    sum_a: f64,
    sizes_a: f64,
    samples: u64,
}

impl Watch {
    /// Begins to watch currents that were declared in `unit`.
    pub(super) const fn new(unit: &'static str, trusted: bool) -> Self {
        Self {
            unit,
            trusted,
            sum_a: 0.0,
            sizes_a: 0.0,
            samples: 0,
        }
    }

    /// Looks at some currents.
    ///
    /// # Errors
    /// The first that cannot be, with its index.
    pub(super) fn currents(
        &mut self,
        currents_a: impl IntoIterator<Item = f64>,
    ) -> Result<(), (usize, Kind)> {
        let (mut sum, mut sizes, mut count) = (0.0, 0.0, 0);
        for (index, current_a) in currents_a.into_iter().enumerate() {
            // Not a number compares as false, so that one comparison finds both.
            let size = current_a.abs();
            if !(size <= MOST_A) {
                self.strange(current_a).map_err(|kind| (index, kind))?;
            }
            sum += current_a;
            sizes += size;
            count += 1;
        }
        self.sum_a += sum;
        self.sizes_a += sizes;
        self.samples += count;
        Ok(())
    }

    #[cold]
    fn strange(&self, current_a: f64) -> Result<(), Kind> {
        if !current_a.is_finite() {
            return Err(Kind::NotFinite {
                what: "the current",
                value: current_a,
            });
        }
        if self.trusted {
            return Ok(());
        }
        Err(Kind::TooMuch {
            current_a,
            unit: self.unit,
        })
    }

    /// Returns the sum of all currents.
    pub(super) const fn sum_a(&self) -> f64 {
        self.sum_a
    }

    /// Looks at the whole.
    ///
    /// # Errors
    /// No sample at all, or none that a meter resolves.
    pub(super) fn end(&self) -> Result<(), Kind> {
        if self.samples == 0 {
            return Err(Kind::Empty);
        }
        let mean_a = self.sizes_a / self.samples as f64;
        if mean_a < LEAST_MEAN_A && !self.trusted {
            return Err(Kind::TooLittle {
                current_a: mean_a,
                unit: self.unit,
            });
        }
        Ok(())
    }
}

/// Accepts a supply that a board may have.
///
/// # Errors
/// Any other.
pub(super) fn voltage(volts: f64) -> Result<f64, Kind> {
    if volts > 0.0 && volts <= MOST_V {
        Ok(volts)
    } else {
        Err(Kind::Voltage(volts))
    }
}

/// Accepts a rate that a meter may have.
///
/// # Errors
/// Any other.
pub(super) fn rate(hz: f64) -> Result<f64, Kind> {
    if (1e-3..=1e8).contains(&hz) {
        Ok(hz)
    } else {
        Err(Kind::Rate(hz))
    }
}
