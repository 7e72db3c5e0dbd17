//! Statistics over seeds: mean and standard deviation, and a bootstrap interval of a mean.

use gleaner_shared::rng::{Purpose, Rng};
use serde::Serialize;

/// Number of bootstrap samples.
pub(crate) const RESAMPLES: usize = 10_000;
/// Share of the resampled means inside the interval.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// Number of values, mean, and sample standard deviation (0 of a single value).
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the struct's documentation says it")]
pub struct Statistic {
    pub count: usize,
    pub mean: f64,
    pub deviation: f64,
}

impl Statistic {
    /// Computes the statistic of values.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum();
        let deviation = if values.len() > 1 {
            (squares / (count - 1.0)).sqrt()
        } else {
            0.0
        };
        Self {
            count: values.len(),
            mean,
            deviation,
        }
    }

    /// Formats `mean ± deviation`, scaled and rounded; the mean alone of a single value.
    pub fn text(&self, factor: f64, decimals: usize) -> String {
        let mean = format!("{:.decimals$}", self.mean * factor);
        if self.count < 2 {
            return mean;
        }
        format!("{mean} \u{b1} {:.decimals$}", self.deviation * factor)
    }
}

/// Confidence interval of a mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Interval {
    /// Returns the percentile bootstrap interval of the mean (Efron, "Bootstrap methods", 1979): the
    /// quantiles 0.025 and 0.975 of the means of 10,000 samples of the same size, drawn with
    /// replacement; `None` of fewer than two values. The same values give the same interval.
    ///
    /// Of a handful of values the interval is too short rather than too long: of two it is their range.
    pub(crate) fn of_mean(values: &[f64]) -> Option<Self> {
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

    /// Tells whether the interval contains zero.
    pub(crate) fn holds_zero(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }
}

/// Returns Pearson's coefficient, or 0 if one of the two does not vary.
pub(crate) fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (x, y) = (Statistic::of(&xs).mean, Statistic::of(&ys).mean);
    let sum = |figure: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(figure).sum::<f64>();
    let both = sum(&|pair| (pair.0 - x) * (pair.1 - y));
    let each = sum(&|pair| (pair.0 - x).powi(2)) * sum(&|pair| (pair.1 - y).powi(2));
    if each > 0.0 { both / each.sqrt() } else { 0.0 }
}

/// Returns Spearman's coefficient: that of the ranks, equal values sharing theirs.
pub(crate) fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |values: Vec<f64>| -> Vec<f64> {
        let rank = |value: &f64| {
            let below = values.iter().filter(|it| *it < value).count();
            let equal = values.iter().filter(|it| *it == value).count();
            below as f64 + (equal as f64 - 1.0) / 2.0
        };
        values.iter().map(rank).collect()
    };
    let (xs, ys) = pairs.iter().copied().unzip();
    let pairs: Vec<_> = ranks(xs).into_iter().zip(ranks(ys)).collect();
    correlation(&pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_the_sample_deviation_and_one_seed_shows_none() {
        let statistic = Statistic::of(&[1.0, 2.0, 3.0]);
        assert_eq!((statistic.mean, statistic.deviation), (2.0, 1.0));
        assert_eq!(statistic.text(10.0, 1), "20.0 \u{b1} 10.0");
        assert_eq!(Statistic::of(&[5.0]).text(1.0, 1), "5.0");
    }

    /// Draws from a normal distribution (Box and Muller).
    fn normal(rng: &mut Rng, mean: f64, deviation: f64) -> f64 {
        let radius = (-2.0 * (1.0 - rng.uniform()).ln()).sqrt();
        mean + deviation * radius * (std::f64::consts::TAU * rng.uniform()).cos()
    }

    /// Returns how many of 300 samples of ten have intervals that contain zero.
    fn covered(mean: f64) -> usize {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
        let sample =
            |rng: &mut Rng| -> Vec<f64> { (0..10).map(|_| normal(rng, mean, 1.0)).collect() };
        (0..300)
            .filter(|_| Interval::of_mean(&sample(&mut rng)).unwrap().holds_zero())
            .count()
    }

    #[test]
    fn the_interval_covers_the_mean_about_as_often_as_promised() {
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
    fn one_value_has_no_interval_and_two_have_their_range() {
        let equal = Interval::of_mean(&[0.5; 5]).unwrap();
        assert_eq!((equal.low, equal.high), (0.5, 0.5));
        assert_eq!(Interval::of_mean(&[3.0]), None);
        let two = Interval::of_mean(&[1.0, 2.0]).unwrap();
        assert_eq!((two.low, two.high), (1.0, 2.0));
    }

    #[test]
    fn correlation_is_one_on_a_line_minus_one_on_its_mirror_and_zero_on_a_level() {
        let line: Vec<(f64, f64)> = (0..9)
            .map(|n| (f64::from(n), 3.0 * f64::from(n) + 1.0))
            .collect();
        assert!((correlation(&line) - 1.0).abs() < 1e-12);
        let mirror: Vec<(f64, f64)> = line.iter().map(|(x, y)| (*x, -y)).collect();
        assert!((correlation(&mirror) + 1.0).abs() < 1e-12);
        assert_eq!(correlation(&[(1.0, 2.0), (1.0, 3.0)]), 0.0);
    }

    #[test]
    fn ranks_correlate_on_any_rising_curve_and_ties_share_a_rank() {
        let curve: Vec<(f64, f64)> = (1..9).map(|n| (f64::from(n), f64::from(n).exp())).collect();
        assert!((rank_correlation(&curve) - 1.0).abs() < 1e-12);
        let tied = [(1.0, 1.0), (1.0, 2.0), (2.0, 3.0)];
        assert!((rank_correlation(&tied) - 0.75_f64.sqrt()).abs() < 1e-12);
    }
}
