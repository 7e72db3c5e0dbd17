//! Gaps in tables, found by time stamps and by the marks of lost samples.

use super::super::error::{Kind, Missing};
use super::row::Row;

/// Share of the period by which a step may differ from it, because stamps are rounded.
const SLACK: f64 = 0.3;

/// Share by which the whole duration may differ from the counted samples.
const WHOLE: f64 = 1e-4;

/// Checks that time stamps are evenly spaced.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    period_s: f64,
    first_s: f64,
    last_s: Option<f64>,
    samples: u64,
}

impl Clock {
    /// Starts the check of stamps that should be `period_s` apart.
    pub(super) const fn new(period_s: f64) -> Self {
        Self {
            period_s,
            first_s: 0.0,
            last_s: None,
            samples: 0,
        }
    }

    /// Checks the next stamp. After a gap the stamp is accepted as well.
    pub(super) fn next(&mut self, time_s: f64) -> Result<(), Kind> {
        if !time_s.is_finite() {
            return Err(Kind::NotFinite {
                what: "the time",
                value: time_s,
            });
        }
        let Some(last_s) = self.last_s.replace(time_s) else {
            self.first_s = time_s;
            return Ok(());
        };
        let step = time_s - last_s;
        if step <= 0.0 {
            return Err(Kind::Backwards {
                from: last_s,
                to: time_s,
            });
        }
        let periods = step / self.period_s;
        let whole = periods.round();
        if (periods - whole).abs() > SLACK || whole < 1.0 {
            return Err(Kind::Irregular {
                step,
                period: self.period_s,
            });
        }
        self.samples = self.samples.saturating_add(whole as u64);
        if whole > 1.0 {
            let missing = Missing::Exactly(whole as u64 - 1);
            return Err(Kind::Gap { missing });
        }
        Ok(())
    }

    /// Checks at the end that the mean distance of the samples is the period.
    pub(super) fn end(&self) -> Result<(), Kind> {
        let Some(last_s) = self.last_s else {
            return Ok(());
        };
        let stamped = last_s - self.first_s;
        let counted = self.samples as f64 * self.period_s;
        if (stamped - counted).abs() <= self.period_s + WHOLE * counted {
            return Ok(());
        }
        Err(Kind::Irregular {
            step: stamped / self.samples.max(1) as f64,
            period: self.period_s,
        })
    }
}

/// Returns the sample rate: from the median step, refined over all steps close to it.
pub(super) fn rate(stamps_s: &[f64]) -> Option<f64> {
    let mut steps: Vec<f64> = stamps_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.retain(|step| step.is_finite() && *step > 0.0);
    steps.sort_by(f64::total_cmp);
    let median = *steps.get(steps.len() / 2)?;
    steps.retain(|step| (step / median - 1.0).abs() <= SLACK);
    let rate = steps.len() as f64 / steps.iter().sum::<f64>();
    // Rates are whole numbers of hertz unless the stamps differ clearly.
    let whole = rate.round();
    let is_whole = whole >= 1.0 && (rate / whole - 1.0).abs() < 1e-5;
    Some(if is_whole { whole } else { rate })
}

/// Current from which no board falls to 0.200 uA and back between two samples.
const AWAKE_A: f64 = 10e-6;

/// Current that the application stores for a lost sample.
const LOST_UA: f64 = 0.2;

/// Finds lost samples in a table of the PPK2's application.
///
/// The application shows a lost sample as 0.200 uA with every input low. A sleeping board may draw
/// that, so only a run of such samples between samples of at least [`AWAKE_A`] is a gap.
#[derive(Clone, Debug)]
pub(super) struct Suspect {
    watched: bool,
    awake: bool,
    run: Option<(u64, u64)>,
}

impl Suspect {
    pub(super) const fn new(watched: bool) -> Self {
        Self {
            watched,
            awake: false,
            run: None,
        }
    }

    /// Takes the next row; if it ends a run, returns the gap with the line of its first sample.
    pub(super) fn next(&mut self, line: u64, row: &Row) -> Option<(u64, Kind)> {
        if !self.watched {
            return None;
        }
        if row.pins == 0 && (row.current_a * 1e6 - LOST_UA).abs() < 1e-9 {
            if let Some((_, samples)) = &mut self.run {
                *samples += 1;
            } else if self.awake {
                self.run = Some((line, 1));
            }
            return None;
        }
        self.awake = row.current_a >= AWAKE_A;
        let (first, samples) = self.run.take()?;
        let missing = Missing::Exactly(samples);
        self.awake.then_some((first, Kind::Gap { missing }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(count: u32, period: f64) -> Vec<f64> {
        (0..count).map(|at| 5.0 + f64::from(at) * period).collect()
    }

    #[test]
    fn rates_are_found_through_rounding_and_gaps() {
        assert_eq!(rate(&stamps(1000, 1e-5)), Some(1e5));
        let rounded: Vec<f64> = stamps(4096, 1.0 / 3000.0)
            .iter()
            .map(|t| (t * 1e6).round() * 1e-6)
            .collect();
        assert_eq!(rate(&rounded), Some(3000.0));
        let mut holed = stamps(1000, 1e-3);
        holed.drain(300..340);
        assert_eq!(rate(&holed), Some(1000.0));
        let slow = rate(&stamps(50, 60.06)).unwrap();
        assert!((slow * 60.06 - 1.0).abs() < 1e-9);
        assert_eq!(rate(&[1.0]), None);
        assert_eq!(rate(&[1.0, 1.0, 1.0]), None);
    }

    #[test]
    fn gaps_leaps_and_returns_are_told_apart() {
        let mut clock = Clock::new(0.01);
        for time in [0.0, 0.01, 0.0205, 0.03] {
            clock.next(time).unwrap();
        }
        let gap = clock.next(0.07).unwrap_err();
        assert!(matches!(gap, Kind::Gap { missing } if missing.least() == 3));
        clock.next(0.08).unwrap();
        let mut far = clock.clone();
        assert!(matches!(far.next(1e300), Err(Kind::Gap { .. })));
        assert!(matches!(far.next(1.5e300), Err(Kind::Gap { .. })));
        assert!(matches!(clock.next(0.095), Err(Kind::Irregular { .. })));
        assert!(matches!(clock.next(0.09), Err(Kind::Backwards { .. })));
        assert!(matches!(clock.next(f64::NAN), Err(Kind::NotFinite { .. })));
    }

    #[test]
    fn a_rate_that_changes_slowly_is_found_at_the_end() {
        let mut clock = Clock::new(0.01);
        let mut time = 0.0;
        for _ in 0..1000 {
            clock.next(time).unwrap();
            time += 0.0102;
        }
        assert!(matches!(clock.end(), Err(Kind::Irregular { .. })));
    }
}
