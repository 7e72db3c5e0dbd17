//! Plausibility checks of samples, whatever their format.

use super::error::Kind;

/// Largest accepted current: ten times the range of a PPK2 or Joulescope. More is a wrong unit.
const MAX_A: f64 = 30.0;

/// Smallest accepted mean current: half of what a PPK2 resolves. Less is a wrong unit.
const MIN_MEAN_A: f64 = 1e-7;

/// Largest accepted supply voltage.
const MAX_V: f64 = 60.0;

/// Checks every current, and the mean current at the end.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    unit: &'static str,
    trusted: bool,
    sum_a: f64,
    sizes_a: f64,
    samples: u64,
}

impl Watch {
    /// Starts the checks of currents that were declared in `unit`.
    pub(super) const fn new(unit: &'static str, trusted: bool) -> Self {
        Self {
            unit,
            trusted,
            sum_a: 0.0,
            sizes_a: 0.0,
            samples: 0,
        }
    }

    /// Checks the next currents and returns the index and problem of the first invalid one.
    pub(super) fn currents(
        &mut self,
        currents_a: impl IntoIterator<Item = f64>,
    ) -> Result<(), (usize, Kind)> {
        let (mut sum, mut sizes, mut count) = (0.0, 0.0, 0);
        for (index, current_a) in currents_a.into_iter().enumerate() {
            let size = current_a.abs();
            if size > MAX_A || size.is_nan() {
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

    pub(super) const fn sum_a(&self) -> f64 {
        self.sum_a
    }

    /// Checks at the end that there are samples and that a meter resolves their mean.
    pub(super) fn end(&self) -> Result<(), Kind> {
        if self.samples == 0 {
            return Err(Kind::Empty);
        }
        let mean_a = self.sizes_a / self.samples as f64;
        if mean_a < MIN_MEAN_A && !self.trusted {
            return Err(Kind::TooLittle {
                current_a: mean_a,
                unit: self.unit,
            });
        }
        Ok(())
    }
}

/// Checks a supply voltage.
pub(super) fn voltage(volts: f64) -> Result<f64, Kind> {
    if volts > 0.0 && volts <= MAX_V {
        Ok(volts)
    } else {
        Err(Kind::Voltage(volts))
    }
}

/// Checks a sample rate.
pub(super) fn rate(hz: f64) -> Result<f64, Kind> {
    if (1e-3..=1e8).contains(&hz) {
        Ok(hz)
    } else {
        Err(Kind::Rate(hz))
    }
}
