//! How sure a mean is: the percentile bootstrap (Efron, "Bootstrap methods", 1979).

use gleaner_shared::rng::{Purpose, Rng};
use serde::Serialize;

/// How often the values are drawn anew.
pub const RESAMPLES: usize = 10_000;
/// The share of resampled means inside the interval.
pub const CONFIDENCE: f64 = 0.95;

/// An interval about a mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Returns the percentile interval of the mean of `values`: the quantiles 0.025 and 0.975 of
    /// the means of 10,000 samples of the same size, drawn with replacement. `None` of fewer than
    /// two values. The same values give the same interval, whatever was computed before.
    ///
    /// Of a handful of values it is too short rather than too long: of two it is their range.
    #[must_use]
    pub fn of_mean(values: &[f64]) -> Option<Self> {
        let count = u32::try_from(values.len())
            .ok()
            .filter(|&count| count > 1)?;
        let mut rng = Rng::stream(0, Purpose::Bootstrap, count, 0);
        let mut means: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let drawn = (0..count).map(|_| values[rng.below(count) as usize]);
                drawn.sum::<f64>() / f64::from(count)
            })
            .collect();
        means.sort_unstable_by(f64::total_cmp);
        let outside = ((1.0 - CONFIDENCE) / 2.0 * RESAMPLES as f64).round() as usize;
        Some(Self {
            low: means[outside],
            high: means[RESAMPLES - 1 - outside],
        })
    }

    /// Says whether zero lies inside or on an end.
    #[must_use]
    pub fn holds_zero(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws from a normal distribution (Box and Muller).
    fn normal(rng: &mut Rng, mean: f64, deviation: f64) -> f64 {
        let radius = (-2.0 * (1.0 - rng.uniform()).ln()).sqrt();
        mean + deviation * radius * (std::f64::consts::TAU * rng.uniform()).cos()
    }

    /// Returns how many of 300 samples of ten have intervals that hold zero.
    fn covered(mean: f64) -> usize {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
        let sample =
            |rng: &mut Rng| -> Vec<f64> { (0..10).map(|_| normal(rng, mean, 1.0)).collect() };
        (0..300)
            .filter(|_| Interval::of_mean(&sample(&mut rng)).unwrap().holds_zero())
            .count()
    }

    #[test]
    fn zero_is_held_about_as_often_as_promised_and_hardly_ever_where_the_mean_is_two() {
        // Ten values make the percentile interval short: 0.90 instead of 0.95.
        let held = covered(0.0);
        assert!((255..=291).contains(&held), "{held}");
        assert_eq!(covered(2.0), 0);
    }

    #[test]
    fn the_interval_is_as_wide_as_the_standard_error_says() {
        let mut rng = Rng::stream(2, Purpose::Synthetic, 0, 0);
        let values: Vec<f64> = (0..400).map(|_| normal(&mut rng, 5.0, 2.0)).collect();
        let Interval { low, high } = Interval::of_mean(&values).unwrap();
        // 2 x 1.96 x 2 / sqrt(400) = 0.392.
        assert!((high - low - 0.392).abs() < 0.05, "{low} {high}");
        assert!(low < 5.0 && 5.0 < high, "{low} {high}");
    }

    #[test]
    fn equal_values_leave_nothing_open_and_one_value_everything() {
        let equal = Interval::of_mean(&[0.5; 5]).unwrap();
        assert_eq!((equal.low, equal.high), (0.5, 0.5));
        assert!(Interval::of_mean(&[0.0; 5]).unwrap().holds_zero());
        assert_eq!(Interval::of_mean(&[3.0]), None);
        assert_eq!(Interval::of_mean(&[]), None);
    }

    #[test]
    fn the_same_values_give_the_same_interval_and_two_give_their_range() {
        let values = [0.3, -0.1, 0.7, 0.2, 0.4];
        assert_eq!(Interval::of_mean(&values), Interval::of_mean(&values));
        let two = Interval::of_mean(&[1.0, 2.0]).unwrap();
        assert_eq!((two.low, two.high), (1.0, 2.0));
    }
}
