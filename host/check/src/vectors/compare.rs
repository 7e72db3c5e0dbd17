//! Comparison with expected outputs, and the worst error.

use std::fmt::Debug;

/// Relative tolerance of numbers in double precision.
const DOUBLE: f64 = 1e-9;
/// Absolute tolerance in double precision, as a part of the largest term that cancels.
const DOUBLE_CANCELLED: f64 = 1e-12;
/// Tolerance of numbers in single precision, relative and as a part of the largest term.
///
/// A rounding to f32 is off by at most 2^-24, 6e-8. Inputs are rounded once, results once, and a
/// few roundings lie between them where a network is trained: seventeen in a row make 1e-6.
const SINGLE: f64 = 1e-6;

/// Largest accepted distance of a computed number from the expected one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    /// As a part of the expected number.
    relative: f64,
    /// In the unit of the number.
    absolute: f64,
    /// The size of the terms the number is a difference of, or 0.
    term: f64,
}

impl Tolerance {
    /// Computed in double precision from terms that do not cancel.
    pub(super) const fn double() -> Self {
        Self::double_of(0.0)
    }

    /// Computed in double precision as a difference of terms as large as `term`.
    pub(super) const fn double_of(term: f64) -> Self {
        Self {
            relative: DOUBLE,
            absolute: DOUBLE_CANCELLED * term.abs(),
            term,
        }
    }

    /// Computed in single precision from terms as large as `term`.
    pub(super) const fn single_of(term: f64) -> Self {
        Self {
            relative: SINGLE,
            absolute: SINGLE * term.abs(),
            term,
        }
    }

    /// The relative tolerance a case brings along.
    pub(super) const fn relative(relative: f64) -> Self {
        Self {
            relative,
            absolute: 0.0,
            term: 0.0,
        }
    }

    /// Counted in whole units, of which `absolute` may be off.
    pub(super) const fn absolute(absolute: f64) -> Self {
        Self {
            relative: 0.0,
            absolute,
            term: 0.0,
        }
    }
}

/// Result of one case, with the first disagreement.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparison {
    pub(super) values: usize,
    /// Largest relative error in double precision.
    pub(super) worst: f64,
    /// Largest error as a part of its tolerance.
    pub(super) used: f64,
    pub(super) failure: Option<String>,
}

impl Comparison {
    /// Compares a number in double precision.
    pub(super) fn number(&mut self, key: &str, actual: f64, expected: f64) {
        self.within(key, actual, expected, Tolerance::double());
    }

    /// Compares a number in double precision that may be undefined.
    pub(super) fn option(&mut self, key: &str, actual: Option<f64>, expected: Option<f64>) {
        match (actual, expected) {
            (Some(actual), Some(expected)) => self.number(key, actual, expected),
            (actual, expected) => self.equal(key, &actual, &expected),
        }
    }

    pub(super) fn list(&mut self, key: &str, actual: &[f64], expected: &[f64], to: Tolerance) {
        if actual.len() != expected.len() {
            self.fail(key, &actual.len(), &expected.len());
        }
        for (a, e) in actual.iter().zip(expected) {
            self.within(key, *a, *e, to);
        }
    }

    /// Compares values that must be equal.
    pub(super) fn equal<T: PartialEq + Debug>(&mut self, key: &str, actual: &T, expected: &T) {
        self.values += 1;
        if actual != expected {
            self.fail(key, actual, expected);
        }
    }

    pub(super) fn within(&mut self, key: &str, actual: f64, expected: f64, to: Tolerance) {
        self.values += 1;
        let error = (actual - expected).abs();
        if error == 0.0 {
            return;
        }
        let (relative, used) = if error <= to.absolute {
            (error / to.term.abs(), error / to.absolute)
        } else {
            let relative = error / expected.abs();
            (relative, relative / to.relative)
        };
        // Beside a wider tolerance a relative error says nothing.
        if to.relative == DOUBLE {
            self.worst = self.worst.max(relative);
        }
        self.used = self.used.max(used);
        if used.is_nan() || used > 1.0 {
            self.fail(key, &actual, &expected);
        }
    }

    fn fail<T: Debug>(&mut self, key: &str, actual: &T, expected: &T) {
        if self.failure.is_none() {
            self.failure = Some(format!("{key}: expected {expected:?}, computed {actual:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(actual: f64, expected: f64, to: Tolerance) -> Comparison {
        let mut found = Comparison::default();
        found.within("x", actual, expected, to);
        found
    }

    #[test]
    fn a_number_beyond_its_tolerance_fails_with_both_values() {
        let near = compare(1.0 + 5e-10, 1.0, Tolerance::double());
        assert!(near.failure.is_none() && (4e-10..6e-10).contains(&near.worst));
        assert!((near.used - 0.5).abs() < 1e-6);
        let far = compare(1.1, 1.0, Tolerance::double());
        assert_eq!(
            far.failure.as_deref(),
            Some("x: expected 1.0, computed 1.1")
        );
        let none = compare(f64::NAN, 1.0, Tolerance::double());
        assert!(none.failure.is_some());
    }

    #[test]
    fn cancelled_terms_and_whole_units_have_room_of_their_own() {
        assert!(
            compare(1e-12, 0.0, Tolerance::double_of(2.0))
                .failure
                .is_none()
        );
        assert!(compare(1e-12, 0.0, Tolerance::double()).failure.is_some());
        assert!(
            compare(2.0, 0.0, Tolerance::absolute(2.0))
                .failure
                .is_none()
        );
        assert!(
            compare(3.0, 0.0, Tolerance::absolute(2.0))
                .failure
                .is_some()
        );
    }

    #[test]
    fn only_double_precision_counts_as_the_worst_relative_error() {
        let single = compare(1.0 + 1e-7, 1.0, Tolerance::single_of(1.0));
        assert!(single.failure.is_none() && single.worst == 0.0 && single.used > 0.09);
    }
}
