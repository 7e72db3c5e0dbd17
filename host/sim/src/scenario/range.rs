//! The ranges a number of a scenario may have to keep to.

use std::fmt::{self, Display, Formatter};

/// Range of a numeric key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// At least this number.
    AtLeast(u32),
    /// At most this number.
    AtMost(u32),
    /// Finite and above 0.
    Positive,
    /// Finite and 0 or more.
    NotNegative,
    /// Any finite number.
    Finite,
    /// Between two limits, which belong to it.
    Within(f64, f64),
}

impl Range {
    /// Says whether a number is in the range; NaN never is.
    #[must_use]
    pub fn contains(self, number: f64) -> bool {
        match self {
            Self::AtLeast(least) => number >= f64::from(least),
            Self::AtMost(most) => number <= f64::from(most),
            Self::Positive => number.is_finite() && number > 0.0,
            Self::NotNegative => number.is_finite() && number >= 0.0,
            Self::Finite => number.is_finite(),
            Self::Within(least, most) => (least..=most).contains(&number),
        }
    }

    /// Returns the fix for a value out of the range.
    #[must_use]
    pub fn demand(self) -> String {
        match self {
            Self::Within(..) => format!("must lie {self}"),
            _ => format!("must be {self}"),
        }
    }
}

impl Display for Range {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, "at least {least}"),
            Self::AtMost(most) => write!(f, "at most {most}"),
            Self::Positive => write!(f, "a positive number"),
            Self::NotNegative => write!(f, "a finite number, 0 or more"),
            Self::Finite => write!(f, "a finite number"),
            Self::Within(least, most) => write!(f, "in [{least}, {most}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Range::{AtLeast, AtMost, Finite, NotNegative, Positive, Within};

    #[test]
    fn limits_belong_to_their_range_and_what_is_no_number_to_none() {
        for (range, inside, outside) in [
            (AtLeast(1), 1.0, 0.0),
            (AtMost(3), 3.0, 4.0),
            (Positive, 1e-300, 0.0),
            (NotNegative, 0.0, -1e-300),
            (Finite, -1e300, f64::INFINITY),
            (Within(0.0, 1.0), 1.0, 1.0 + 1e-9),
        ] {
            assert!(range.contains(inside), "{range}");
            assert!(!range.contains(outside), "{range}");
            assert!(!range.contains(f64::NAN), "{range}");
        }
    }
}
