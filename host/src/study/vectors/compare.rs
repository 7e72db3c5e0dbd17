//! Comparing with expected outputs, and remembering the worst error.

use serde_json::Value;

use gleaner_cre::json::{Fields, JsonError};

/// Relative tolerance where a case has none of its own.
pub(super) const RELATIVE: f64 = 1e-9;
/// Absolute tolerance, as a part of the largest term that cancels.
const CANCELLED: f64 = 1e-12;

/// One case: its remaining fields and what was found out so far.
pub(super) struct Case {
    pub(super) fields: Fields,
    tolerance: f64,
    /// Largest relative error.
    pub(super) worst: f64,
    /// First disagreement.
    pub(super) failure: Option<String>,
}

impl Case {
    pub(super) fn open(place: String, value: Value) -> Result<Self, JsonError> {
        let fields = Fields::open(place, value)?;
        Ok(Self {
            fields,
            tolerance: RELATIVE,
            worst: 0.0,
            failure: None,
        })
    }

    /// Uses the case's own tolerance.
    pub(super) fn set_tolerance(&mut self, tolerance: f64) {
        self.tolerance = tolerance;
    }

    /// Compares a number with the field of that name.
    pub(super) fn expect(&mut self, key: &str, actual: f64) -> Result<(), JsonError> {
        self.expect_within(key, actual, 0.0)
    }

    /// Compares a number that is a difference of terms as large as `term`.
    pub(super) fn expect_within(
        &mut self,
        key: &str,
        actual: f64,
        term: f64,
    ) -> Result<(), JsonError> {
        let expected = self.fields.number(key)?;
        self.compare(key, actual, expected, term);
        Ok(())
    }

    /// Compares a number that may be undefined.
    pub(super) fn expect_option(
        &mut self,
        key: &str,
        actual: Option<f64>,
    ) -> Result<(), JsonError> {
        match (actual, self.fields.number_or_null(key)?) {
            (Some(actual), Some(expected)) => self.compare(key, actual, expected, 0.0),
            (None, None) => {}
            (actual, expected) => self.fail(key, &actual, &expected),
        }
        Ok(())
    }

    /// Compares a list.
    pub(super) fn expect_all(
        &mut self,
        key: &str,
        actual: &[f64],
        term: f64,
    ) -> Result<(), JsonError> {
        let expected = self.fields.numbers(key)?;
        self.compare_all(key, actual, &expected, term);
        Ok(())
    }

    /// Compares a list of lists.
    pub(super) fn expect_matrix(
        &mut self,
        key: &str,
        actual: &[Vec<f64>],
        term: f64,
    ) -> Result<(), JsonError> {
        let expected = self.fields.matrix(key)?;
        if actual.len() != expected.len() {
            self.fail(key, &actual.len(), &expected.len());
        }
        for (a, e) in actual.iter().zip(&expected) {
            self.compare_all(key, a, e, term);
        }
        Ok(())
    }

    /// Compares anything else.
    pub(super) fn expect_equal<T: PartialEq + std::fmt::Debug>(
        &mut self,
        key: &str,
        actual: &T,
        expected: &T,
    ) {
        if actual != expected {
            self.fail(key, actual, expected);
        }
    }

    pub(super) fn compare_all(&mut self, key: &str, actual: &[f64], expected: &[f64], term: f64) {
        if actual.len() != expected.len() {
            self.fail(key, &actual.len(), &expected.len());
        }
        for (a, e) in actual.iter().zip(expected) {
            self.compare(key, *a, *e, term);
        }
    }

    pub(super) fn compare(&mut self, key: &str, actual: f64, expected: f64, term: f64) {
        let error = (actual - expected).abs();
        if error == 0.0 {
            return;
        }
        if error <= CANCELLED * term.abs() {
            self.worst = self.worst.max(error / term.abs());
            return;
        }
        let relative = error / expected.abs();
        // A case with a tolerance of its own is ill-conditioned: its error says nothing.
        if self.tolerance <= RELATIVE {
            self.worst = self.worst.max(relative);
        }
        if relative.is_nan() || relative > self.tolerance {
            self.fail(key, &actual, &expected);
        }
    }

    pub(super) fn fail<T: std::fmt::Debug>(&mut self, key: &str, actual: &T, expected: &T) {
        if self.failure.is_none() {
            self.failure = Some(format!("{key}: expected {expected:?}, computed {actual:?}"));
        }
    }
}
