//! Power over time and its integral, in integers.
//!
//! Powers are picowatts and times microseconds, so energies are whole attojoules: integrals
//! are exact, and the incomes of consecutive rounds add up to the integral over all of them.

use crate::InputError;

/// Largest accepted power; more indicates a wrong unit.
const MAX_POWER_W: f64 = 1e3;
/// Longest accepted time, about 300 years.
pub(super) const MAX_US: u64 = 10_000_000_000_000_000;
/// Largest number of rows of a file.
pub(super) const MAX_ROWS: usize = 4 << 20;

/// A piecewise constant power. The last value holds as long as the one before it.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    at_us: Vec<u64>,
    power_pw: Vec<u64>,
    /// Energy from the first time to each time, in attojoules.
    before_aj: Vec<u128>,
    length_us: u64,
    total_aj: u128,
}

impl Curve {
    pub(super) const fn length_us(&self) -> u64 {
        self.length_us
    }

    /// Returns the mean power over the whole length.
    pub(super) fn mean_w(&self) -> f64 {
        self.total_aj as f64 / self.length_us as f64 / 1e12
    }

    /// Returns the energy from the start to `time_us`, in attojoules. After its end the curve
    /// starts again if `looping`, and is zero otherwise.
    pub(super) fn energy_aj(&self, time_us: u64, looping: bool) -> u128 {
        let passes = time_us / self.length_us;
        match looping {
            true => u128::from(passes) * self.total_aj + self.within_aj(time_us % self.length_us),
            false if passes > 0 => self.total_aj,
            false => self.within_aj(time_us),
        }
    }

    fn within_aj(&self, time_us: u64) -> u128 {
        // The first time is zero, so at least one row has begun.
        let row = self.at_us.partition_point(|&at| at <= time_us) - 1;
        let since = u128::from(time_us - self.at_us[row]);
        self.before_aj[row] + since * u128::from(self.power_pw[row])
    }
}

/// Builds a curve row by row.
#[derive(Clone, Debug, Default)]
pub(super) struct CurveBuilder {
    first_s: f64,
    at_us: Vec<u64>,
    power_pw: Vec<u64>,
}

impl CurveBuilder {
    /// Adds a row; a time counts from that of the first row.
    pub(super) fn push(&mut self, t_s: f64, power_w: f64) -> Result<(), InputError> {
        if power_w.is_nan() || power_w > MAX_POWER_W {
            return Err(InputError(format!(
                "{power_w} W after scaling is above {MAX_POWER_W} W; correct the unit with harvest.scale"
            )));
        }
        let at_us = match self.at_us.last() {
            None => {
                self.first_s = t_s;
                0
            }
            Some(&last) => {
                let at = ((t_s - self.first_s) * 1e6).round();
                // A negative `at` becomes 0.
                let problem = match at {
                    _ if at as u64 <= last => "not after that of the row before; sort the rows",
                    _ if at > MAX_US as f64 / 2.0 => {
                        "more than a century after the first; is it in seconds?"
                    }
                    _ => "",
                };
                if !problem.is_empty() {
                    return Err(InputError(format!("time {t_s} s is {problem}")));
                }
                at as u64
            }
        };
        self.at_us.push(at_us);
        self.power_pw.push((power_w * 1e12).round() as u64);
        Ok(())
    }

    /// Integrates the rows; `None` if there are fewer than two.
    pub(super) fn build(self) -> Option<Curve> {
        let Self {
            at_us, power_pw, ..
        } = self;
        let [.., before_last, last] = at_us[..] else {
            return None;
        };
        let length_us = last + (last - before_last);
        let ends = at_us[1..].iter().chain([&length_us]);
        let mut total_aj = 0;
        let mut before_aj = Vec::with_capacity(at_us.len());
        for ((&at, &end), &power) in at_us.iter().zip(ends).zip(&power_pw) {
            before_aj.push(total_aj);
            total_aj += u128::from(end - at) * u128::from(power);
        }
        Some(Curve {
            at_us,
            power_pw,
            before_aj,
            length_us,
            total_aj,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(rows: &[(f64, f64)]) -> Curve {
        let mut builder = CurveBuilder::default();
        for &(t_s, power_w) in rows {
            builder.push(t_s, power_w).unwrap();
        }
        builder.build().unwrap()
    }

    #[test]
    fn a_power_holds_to_the_next_row_and_the_last_as_long_as_the_one_before() {
        let curve = curve(&[(10.0, 1.0), (12.0, 3.0), (13.0, 0.5)]);
        assert_eq!(curve.length_us(), 4_000_000);
        let joules = |t_us| curve.energy_aj(t_us, false) as f64 / 1e18;
        assert_eq!(joules(1_000_000), 1.0);
        assert_eq!(joules(2_500_000), 3.5);
        assert_eq!(joules(4_000_000), 5.5);
        assert_eq!(joules(9_000_000), 5.5);
        assert!((curve.mean_w() - 5.5 / 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_looping_curve_wraps_exactly() {
        let curve = curve(&[(0.0, 0.1), (1.0, 0.7), (1.5, 0.0)]);
        let pass = curve.energy_aj(curve.length_us(), true);
        for t_us in [0, 1, 999_999, 1_000_000, 1_700_000] {
            for passes in [1u64, 7, 1_000_000] {
                let later = curve.energy_aj(t_us + passes * curve.length_us(), true);
                assert_eq!(
                    later,
                    curve.energy_aj(t_us, true) + u128::from(passes) * pass
                );
            }
        }
    }

    #[test]
    fn times_must_rise_and_powers_must_be_believable() {
        let mut builder = CurveBuilder::default();
        builder.push(5.0, 1.0).unwrap();
        assert!(builder.push(5.0, 1.0).unwrap_err().0.contains("not after"));
        assert!(builder.push(4.0, 1.0).unwrap_err().0.contains("not after"));
        assert!(builder.push(1e300, 1.0).unwrap_err().0.contains("century"));
        assert!(builder.push(6.0, 1e4).unwrap_err().0.contains("scale"));
        assert!(builder.push(6.0, f64::NAN).is_err());
        assert!(builder.build().is_none());
    }
}
