//! The layer sizes of a network, and the limits of the fixed-point arithmetic.

use core::fmt;
use core::str::FromStr;

/// Layer sizes of a perceptron: bytes of a sample, hidden units, classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Shape {
    pub inputs: usize,
    pub hidden: usize,
    pub classes: usize,
}

/// The largest number of inputs.
pub const MOST_INPUTS: usize = 4096;
/// The largest number of hidden units: a sum over them is one list of 256.
pub const MOST_HIDDEN: usize = 256;
/// The largest number of classes: a label is one byte. This many powers of at most 2^15 add up to
/// 2^23, within the range of the softmax's logarithm and division.
pub const MOST_CLASSES: usize = 256;

/// Layer sizes beyond the limits of the fixed-point arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeError(pub Shape);

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a fixed-point network has 1 to {MOST_INPUTS} inputs, 1 to {MOST_HIDDEN} hidden units and 2 to \
             {MOST_CLASSES} classes, not {}",
            self.0
        )
    }
}

impl core::error::Error for ShapeError {}

impl Shape {
    /// The network of the paper: 784-50-10.
    pub const PAPER: Self = Self {
        inputs: 784,
        hidden: 50,
        classes: 10,
    };

    /// Checks that every sum over these sizes stays in its range or saturates as stated.
    ///
    /// # Errors
    /// Returns the sizes, whose message names the limits.
    pub const fn check(self) -> Result<Self, ShapeError> {
        let good = self.inputs >= 1
            && self.inputs <= MOST_INPUTS
            && self.hidden >= 1
            && self.hidden <= MOST_HIDDEN
            && self.classes >= 2
            && self.classes <= MOST_CLASSES;
        if good {
            Ok(self)
        } else {
            Err(ShapeError(self))
        }
    }

    /// Returns the number of parameters.
    #[must_use]
    pub const fn parameters(self) -> usize {
        (self.inputs + 1) * self.hidden + (self.hidden + 1) * self.classes
    }

    /// Returns the size of the exact form in bytes.
    #[must_use]
    pub const fn exact_bytes(self) -> usize {
        2 * (self.inputs + self.classes) * self.hidden + 4 * (self.hidden + self.classes)
    }

    /// Returns whether a network of these sizes fits memory for `room`.
    #[must_use]
    pub const fn fits(self, room: Self) -> bool {
        self.inputs <= room.inputs && self.hidden <= room.hidden && self.classes <= room.classes
    }

    /// Parses sizes such as `784-50-10`, in a constant too.
    #[must_use]
    pub const fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (mut sizes, mut count, mut digits, mut at) = ([0; 3], 0, 0, 0);
        while at < bytes.len() {
            match bytes[at] {
                digit @ b'0'..=b'9' if digits < 5 => {
                    sizes[count] = 10 * sizes[count] + (digit - b'0') as usize;
                    digits += 1;
                }
                b'-' if digits > 0 && count < 2 => {
                    count += 1;
                    digits = 0;
                }
                _ => return None,
            }
            at += 1;
        }
        let [inputs, hidden, classes] = sizes;
        if count == 2 && digits > 0 {
            return Some(Self {
                inputs,
                hidden,
                classes,
            });
        }
        None
    }

    /// Returns whether the sizes are equal, in a constant too.
    #[must_use]
    pub const fn is(self, other: Self) -> bool {
        self.fits(other) && other.fits(self)
    }
}

/// Error of text that is no layer sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoShape;

impl fmt::Display for NoShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write inputs-hidden-classes, for example 784-50-10")
    }
}

impl core::error::Error for NoShape {}

impl FromStr for Shape {
    type Err = NoShape;

    fn from_str(text: &str) -> Result<Self, NoShape> {
        Self::parse(text).ok_or(NoShape)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.inputs, self.hidden, self.classes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_add_up() {
        let paper = Shape::PAPER;
        assert_eq!((paper.parameters(), paper.exact_bytes()), (39_760, 79_640));
        assert_eq!(paper.to_string(), "784-50-10");
        assert_eq!("784-50-10".parse(), Ok(paper));
        assert!(
            paper.is(paper)
                && !paper.is(Shape {
                    hidden: 51,
                    ..paper
                })
        );
        for wrong in [
            "",
            "784",
            "784-50",
            "784-50-",
            "-50-10",
            "1-2-3-4",
            "784-5x-10",
            "123456-2-3",
        ] {
            assert_eq!(Shape::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_beyond_the_proofs_are_refused_with_their_limits() {
        let shape = |inputs, hidden, classes| Shape {
            inputs,
            hidden,
            classes,
        };
        assert!(shape(1, 1, 2).check().is_ok() && shape(4096, 256, 256).check().is_ok());
        for wrong in [
            shape(0, 5, 2),
            shape(4097, 5, 2),
            shape(9, 0, 2),
            shape(9, 257, 2),
            shape(9, 5, 1),
            shape(9, 5, 257),
        ] {
            let said = wrong.check().unwrap_err().to_string();
            assert!(
                said.contains(&wrong.to_string()) && said.contains("4096"),
                "{said}"
            );
        }
    }
}
