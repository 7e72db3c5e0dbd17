//! The bound on the length of an update, which limits what one client can change in a round.
//!
//! Differential privacy needs that bound before noise is added. A client shortens its change while it
//! codes it: the factor min(1, C / |d|) joins the scale of the codes, so that every difference is rounded
//! once. The base station shortens again what it decoded, since rounding may lengthen an update a little
//! and a hostile client may ignore the bound.

use super::params::{Params, Tensor, in_pairs};

/// Fractional bits of lengths: they are compared in units of 2^-18.
const LENGTH_BITS: u32 = 18;

/// A bound on the L2 norm of an update, in units of 2^-16: an integer, so that both ends and the wire
/// agree on it. Zero means no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clip(pub u32);

impl Clip {
    /// No bound.
    pub const NONE: Self = Self(0);

    /// Returns the largest representable bound that is not above `bound`; 0, negative and NaN mean none.
    /// A positive bound below 2^-16 becomes that.
    #[must_use]
    pub const fn from_real(bound: f64) -> Self {
        // `as` saturates and maps NaN to zero.
        match (bound * 65_536.0) as u32 {
            0 if bound > 0.0 => Self(1),
            bound => Self(bound),
        }
    }

    /// Returns the bound as a real number; 0 means none.
    #[must_use]
    pub const fn to_real(self) -> f64 {
        self.0 as f64 / 65_536.0
    }

    /// Returns the bound and the length of `model - base` if the length exceeds the bound, both in units
    /// of 2^-18.
    pub(super) fn exceeded<const IN: usize, const HID: usize, const OUT: usize>(
        self,
        model: &Params<IN, HID, OUT>,
        base: &Params<IN, HID, OUT>,
    ) -> Option<(u32, u32)> {
        if self == Self::NONE {
            return None;
        }
        let limit = u64::from(self.0) << (LENGTH_BITS - 16);
        let length = length(model, base);
        // A length fits 32 bits, and so does a limit below it.
        (u64::from(length) > limit).then_some((limit as u32, length))
    }
}

/// Returns floor(sqrt(2^8 sum d^2)) + 1, the length |model - base| in units of 2^-18, where the
/// differences d are in units of 2^-14 and those of biases are rounded away from zero. It is never too
/// small.
fn length<const IN: usize, const HID: usize, const OUT: usize>(
    model: &Params<IN, HID, OUT>,
    base: &Params<IN, HID, OUT>,
) -> u32 {
    // Each bias adds at most 2^47, each weight 2^36: with 256 units and classes 2^56 in all.
    let squares = squares(model, base, Tensor::W1)
        + (squares(model, base, Tensor::W2) << 4)
        + coarse(model, base, Tensor::B1, 255)
        + coarse(model, base, Tensor::B2, 256);
    ((squares << 8).isqrt() + 1) as u32
}

/// Returns the sum of the squared differences of weights, in units.
#[inline(always)]
fn squares<const IN: usize, const HID: usize, const OUT: usize>(
    model: &Params<IN, HID, OUT>,
    base: &Params<IN, HID, OUT>,
    tensor: Tensor,
) -> u64 {
    let columns = tensor.columns(model.shape());
    let rows = tensor.range(model.shape()).len() / columns;
    let mut sum = 0u64;
    for row in 0..rows {
        in_pairs!(column in columns => {
            let difference = model.difference(base, tensor, row, column);
            // At most (2^16 - 2)^2.
            sum += u64::from(difference.wrapping_mul(difference) as u32);
        });
    }
    sum
}

/// Returns the sum of the squared differences of biases, in units of `by`, rounded up.
fn coarse<const IN: usize, const HID: usize, const OUT: usize>(
    model: &Params<IN, HID, OUT>,
    base: &Params<IN, HID, OUT>,
    tensor: Tensor,
    by: u32,
) -> u64 {
    let columns = tensor.columns(model.shape());
    let square = |column| {
        let difference = model.difference(base, tensor, 0, column);
        let rounded = u64::from(difference.unsigned_abs().div_ceil(by));
        rounded * rounded
    };
    (0..columns).map(square).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_down_but_not_to_none() {
        assert_eq!(Clip::from_real(0.5), Clip(1 << 15));
        assert_eq!(Clip::from_real(1.999_999_9), Clip((2 << 16) - 1));
        assert_eq!(Clip::from_real(1e-9), Clip(1));
        assert_eq!(Clip::from_real(1e9), Clip(u32::MAX));
        for none in [0.0, -1.0, f64::NAN] {
            assert_eq!(Clip::from_real(none), Clip::NONE, "{none}");
        }
    }

    #[test]
    fn the_longest_change_of_the_largest_network_does_not_overflow() {
        let (mut model, mut base) = (
            Box::new(Params::<784, 256, 64>::new()),
            Box::new(Params::new()),
        );
        model.map(|tensor, _, _| tensor.limit());
        base.map(|tensor, _, _| -tensor.limit());
        let exact: f64 = Tensor::ALL
            .map(|tensor| {
                let count = tensor.range(model.shape()).len() as f64;
                count * (2.0 * f64::from(tensor.limit()) / f64::from(tensor.units())).powi(2)
            })
            .iter()
            .sum::<f64>()
            .sqrt();
        let found = f64::from(length(&model, &base)) / 262_144.0;
        assert!(
            exact <= found && found < exact * (1.0 + 1e-6),
            "{found} for {exact}"
        );
        assert_eq!(Clip(u32::MAX).exceeded(&model, &base), None);
        let (limit, length) = Clip(1 << 16).exceeded(&model, &base).unwrap();
        assert_eq!((limit, f64::from(length) / 262_144.0), (1 << 18, found));
    }
}
