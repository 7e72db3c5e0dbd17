//! Accuracy over energy: test accuracy against the energy that all clients have spent.

use gleaner_sim::round::RoundRow;

/// Test accuracy against the energy of all clients so far, one point per evaluated round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Curve {
    points: Vec<(f64, f64)>,
}

/// Accuracy at an energy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reading {
    /// No round was evaluated yet.
    Before,
    At(f64),
    /// The run ended before it had spent as much; the accuracy of its last model.
    Ended(f64),
}

impl Reading {
    pub(super) const fn accuracy(self) -> Option<f64> {
        match self {
            Self::Before => None,
            Self::At(accuracy) | Self::Ended(accuracy) => Some(accuracy),
        }
    }
}

impl Curve {
    /// Adds a round. Rounds that cost nothing replace the point they share their energy with.
    pub(super) fn add(&mut self, row: &RoundRow) {
        let Some(accuracy) = row.accuracy else { return };
        if self
            .points
            .last()
            .is_some_and(|last| last.0 >= row.cumulative_spent_j)
        {
            self.points.pop();
        }
        self.points.push((row.cumulative_spent_j, accuracy));
    }

    pub(super) fn end_j(&self) -> f64 {
        self.points.last().map_or(0.0, |last| last.0)
    }

    /// Returns the accuracy at an energy, interpolated linearly between evaluations.
    pub(super) fn at(&self, energy_j: f64) -> Reading {
        let after = self.points.partition_point(|point| point.0 < energy_j);
        match (
            after.checked_sub(1).map(|at| self.points[at]),
            self.points.get(after),
        ) {
            (_, Some(&(x, y))) if x == energy_j => Reading::At(y),
            (Some((x0, y0)), Some(&(x1, y1))) => {
                Reading::At(y0 + (y1 - y0) * (energy_j - x0) / (x1 - x0))
            }
            (Some((_, y)), None) => Reading::Ended(y),
            (None, _) => Reading::Before,
        }
    }
}

/// Returns the mean over several runs: [`Reading::Before`] if one run has no accuracy yet, and
/// [`Reading::Ended`] if one has ended.
pub(super) fn mean<'a>(curves: impl IntoIterator<Item = &'a Curve>, energy_j: f64) -> Reading {
    let (mut sum, mut count, mut ended) = (0.0, 0, false);
    for curve in curves {
        let reading = curve.at(energy_j);
        let Some(accuracy) = reading.accuracy() else {
            return Reading::Before;
        };
        ended |= matches!(reading, Reading::Ended(_));
        sum += accuracy;
        count += 1;
    }
    match (count, ended) {
        (0, _) => Reading::Before,
        (_, true) => Reading::Ended(sum / f64::from(count)),
        (_, false) => Reading::At(sum / f64::from(count)),
    }
}

/// Returns up to `count` round energies (1, 2 or 5 times a power of ten), the largest no larger
/// than `most_j`.
pub(super) fn budgets(most_j: f64, count: usize) -> Vec<f64> {
    if !(most_j.is_finite() && most_j > 0.0) {
        return Vec::new();
    }
    let mut exponent = most_j.log10().floor() as i32;
    let mut found = Vec::new();
    while found.len() < count {
        for digit in [5.0, 2.0, 1.0] {
            // Dividing by a whole power keeps 0.05 the nearest double to 0.05.
            let budget = match exponent {
                0.. => digit * 10f64.powi(exponent),
                _ => digit / 10f64.powi(-exponent),
            };
            if budget <= most_j && found.len() < count {
                found.push(budget);
            }
        }
        exponent -= 1;
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(f64, f64)]) -> Curve {
        Curve {
            points: points.to_vec(),
        }
    }

    #[test]
    fn accuracy_is_interpolated_and_the_end_is_kept() {
        let curve = curve(&[(1.0, 0.2), (3.0, 0.6), (4.0, 0.5)]);
        assert_eq!(curve.at(0.5), Reading::Before);
        assert_eq!(curve.at(1.0), Reading::At(0.2));
        assert!((curve.at(2.0).accuracy().unwrap() - 0.4).abs() < 1e-15);
        assert_eq!(curve.at(4.0), Reading::At(0.5));
        assert_eq!(curve.at(4.1), Reading::Ended(0.5));
        assert_eq!(curve.end_j(), 4.0);
        assert_eq!(Curve::default().at(1.0), Reading::Before);
    }

    #[test]
    fn a_mean_needs_every_seed_and_tells_when_one_has_ended() {
        let (long, short) = (
            curve(&[(1.0, 0.0), (5.0, 0.4)]),
            curve(&[(2.0, 0.6), (3.0, 0.8)]),
        );
        let both = [&long, &short];
        assert_eq!(mean(both, 1.5), Reading::Before);
        let Reading::At(three) = mean(both, 3.0) else {
            panic!()
        };
        assert!((three - 0.5).abs() < 1e-15);
        let Reading::Ended(five) = mean(both, 5.0) else {
            panic!()
        };
        assert!((five - 0.6).abs() < 1e-15);
        assert_eq!(mean([], 1.0), Reading::Before);
    }

    #[test]
    fn rounds_without_energy_or_evaluation_add_no_points() {
        let row = |spent_j: f64, accuracy: Option<f64>| {
            let line = serde_json::json!({
                "round": 1, "accuracy": accuracy, "participants": [], "epochs": 0,
                "compute_j": 0.0, "radio_j": 0.0, "harvest_j": 0.0, "cumulative_spent_j": spent_j,
                "downlink_s": 0.0, "round_s": 0.0, "overdrawn": [], "absent": [],
            });
            serde_json::from_value::<RoundRow>(line).unwrap()
        };
        let mut curve = Curve::default();
        for (spent, accuracy) in [
            (1.0, Some(0.1)),
            (2.0, None),
            (3.0, Some(0.3)),
            (3.0, Some(0.4)),
        ] {
            curve.add(&row(spent, accuracy));
        }
        assert_eq!(curve.points, [(1.0, 0.1), (3.0, 0.4)]);
    }

    #[test]
    fn budgets_are_round_numbers_up_to_the_most() {
        assert_eq!(budgets(1.66, 4), [0.1, 0.2, 0.5, 1.0]);
        assert_eq!(budgets(0.05, 2), [0.02, 0.05]);
        assert_eq!(budgets(0.0, 3), [] as [f64; 0]);
        assert_eq!(budgets(f64::NAN, 3), [] as [f64; 0]);
    }
}
