//! Mean and spread over seeds.

/// Mean and sample standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistic {
    /// How many values there are.
    pub count: usize,
    /// Their sum divided by their number.
    pub mean: f64,
    /// The sample standard deviation; 0 of a single value.
    pub deviation: f64,
}

impl Statistic {
    /// Sums up values.
    #[must_use]
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

    /// Writes `mean ± deviation` with the given decimals and factor; the mean alone where there
    /// is no spread to know.
    #[must_use]
    pub fn text(&self, factor: f64, decimals: usize) -> String {
        let mean = format!("{:.decimals$}", self.mean * factor);
        if self.count < 2 {
            return mean;
        }
        format!("{mean} \u{b1} {:.decimals$}", self.deviation * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_the_sample_deviation() {
        let statistic = Statistic::of(&[1.0, 2.0, 3.0]);
        assert_eq!(
            statistic,
            Statistic {
                count: 3,
                mean: 2.0,
                deviation: 1.0
            }
        );
        assert_eq!(statistic.text(10.0, 1), "20.0 \u{b1} 10.0");
    }

    #[test]
    fn one_seed_shows_no_spread() {
        assert_eq!(Statistic::of(&[5.0]).text(1.0, 1), "5.0");
    }
}
