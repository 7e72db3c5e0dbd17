//! The step of one parameter, w <- w - (rate / N) g, rounded at random so that steps below one unit
//! are right on average.

/// A learning rate in units of 2^-24: an integer, so that both ends and the wire agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LearningRate(pub u32);

impl LearningRate {
    /// Returns the nearest representable rate; negative and NaN become zero.
    #[must_use]
    pub const fn from_real(rate: f64) -> Self {
        // `as` saturates and maps NaN to zero.
        Self((rate * 16_777_216.0 + 0.5) as u32)
    }

    /// Returns the rate as a real number.
    #[must_use]
    pub const fn to_real(self) -> f64 {
        self.0 as f64 / 16_777_216.0
    }
}

/// A positive factor `mantissa` / 2^`shift` that turns a summed gradient into a step, the
/// mantissa having 16 significant bits (relative error below 2^-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Factor {
    mantissa: u32,
    shift: i32,
}

impl Factor {
    /// Returns rate * numerator / (denominator * samples).
    pub(super) const fn new(
        rate: LearningRate,
        numerator: u32,
        denominator: u32,
        samples: u32,
    ) -> Self {
        let mut factor = Self::ratio(
            rate.0 as u64 * numerator as u64,
            denominator as u64 * samples as u64,
        );
        factor.shift += 24;
        factor
    }

    /// Returns top / bottom, for a bottom below 2^46; zero if either is zero.
    pub(super) const fn ratio(top: u64, bottom: u64) -> Self {
        if top == 0 || bottom == 0 {
            return Self {
                mantissa: 0,
                shift: 32,
            };
        }
        let up = top.leading_zeros();
        let quotient = (top << up) / bottom;
        // At least 17 bits: `top << up` has 64 of them.
        let excess = 48 - quotient.leading_zeros();
        let mut mantissa = ((quotient >> (excess - 1)) + 1) >> 1;
        let mut shift = up as i32 - excess as i32;
        if mantissa == 1 << 16 {
            mantissa >>= 1;
            shift -= 1;
        }
        Self {
            mantissa: mantissa as u32,
            shift,
        }
    }

    /// Returns floor(gradient * factor + random / 2^16) for a step that fits 16 bits, in 32-bit
    /// arithmetic; a larger step saturates.
    #[cfg(test)]
    const fn step(self, gradient: i32, random: u16) -> i32 {
        match self.for_row() {
            RowFactor::Down { mantissa, shift } => step_down(mantissa, shift, gradient, random),
            RowFactor::Up { mantissa, shift } => step_up(mantissa, shift, gradient, random),
        }
    }

    /// Returns the factor in the form that serves a whole row.
    pub(super) const fn for_row(self) -> RowFactor {
        let down = self.shift - 32;
        if down >= 0 {
            RowFactor::Down {
                mantissa: self.mantissa,
                shift: if down < 31 { down as u32 } else { 31 },
            }
        } else {
            RowFactor::Up {
                mantissa: self.mantissa,
                shift: if down > -31 { -down as u32 } else { 31 },
            }
        }
    }

    /// Returns a factor of at most 1 as multiplier and shift, for numbers below 2^15 in 32-bit
    /// arithmetic: floor(x * factor + random / 2^16) is ((x * multiplier >> shift) + random) >> 16.
    pub(super) const fn for_small(self) -> (i32, u32) {
        match self.shift - 16 {
            // A factor of 1 is 2^15 / 2^15.
            ..0 => (1 << 16, 0),
            shift @ 0..32 => (self.mantissa as i32, shift as u32),
            _ => (0, 0),
        }
    }

    /// Returns floor(gradient * factor + random / 2^16) for steps of any size, saturating at
    /// 2^31; the gradient saturates at 2^46.
    pub(super) fn wide_step(self, gradient: i64, random: u16) -> i32 {
        const GRADIENT_MAX: i64 = 1 << 46;
        let product = gradient.clamp(-GRADIENT_MAX, GRADIENT_MAX) * i64::from(self.mantissa);
        let step = if self.shift >= 16 {
            product >> (self.shift - 16).min(63)
        } else {
            product.saturating_mul(1 << (16 - self.shift).min(62))
        };
        let step = step.saturating_add(i64::from(random)) >> 16;
        step.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
    }
}

/// A [`Factor`] times 2^32 as 16 bits and a shift of at most 31: a row's inner loop has no branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowFactor {
    /// Below 2^-16: products are shifted down.
    Down { mantissa: u32, shift: u32 },
    /// From 2^-16 on, with few samples or a high rate: products are shifted up and saturate.
    Up { mantissa: u32, shift: u32 },
}

/// Returns the step of a gradient under [`RowFactor::Down`], rounded by the random bits.
#[inline(always)]
pub(super) const fn step_down(mantissa: u32, shift: u32, gradient: i32, random: u16) -> i32 {
    let product = upper_product(gradient, mantissa);
    (product >> shift).saturating_add(random as i32) >> 16
}

/// Returns the step of a gradient under [`RowFactor::Up`], rounded by the random bits.
#[inline(always)]
pub(super) const fn step_up(mantissa: u32, shift: u32, gradient: i32, random: u16) -> i32 {
    let product = saturating_shift(upper_product(gradient, mantissa), shift);
    product.saturating_add(random as i32) >> 16
}

/// Returns value * mantissa / 2^16, floored, by halves: a Cortex-M0+ multiplies 32 bits only.
#[inline(always)]
const fn upper_product(value: i32, mantissa: u32) -> i32 {
    let high = (value >> 16) * mantissa as i32;
    let low = ((value as u32 & 0xFFFF) * mantissa) >> 16;
    high + low as i32
}

/// Shifts left by at most 31, saturating, in 32-bit arithmetic.
#[inline(always)]
const fn saturating_shift(value: i32, by: u32) -> i32 {
    let shifted = value << by;
    if shifted >> by == value {
        shifted
    } else {
        i32::MAX ^ (value >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn factor_is_within_its_stated_error() {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
        for _ in 0..10_000 {
            let rate = LearningRate(rng.next_u32() >> rng.below(32));
            let (top, bottom) = (1 + rng.below(1 << 20), 1 + rng.below(1 << 20));
            let samples = 1 + rng.below(5000);
            let factor = Factor::new(rate, top, bottom, samples);
            let exact = rate.to_real() * f64::from(top) / (f64::from(bottom) * f64::from(samples));
            let got = f64::from(factor.mantissa) * 2f64.powi(-factor.shift);
            assert!(
                (got - exact).abs() <= exact * 1.6e-5,
                "{rate:?} {got} {exact}"
            );
        }
    }

    #[test]
    fn steps_average_to_the_exact_product() {
        let factor = Factor::new(LearningRate::from_real(0.01), 4, 255, 1000);
        let mut rng = Rng::stream(2, Purpose::Synthetic, 0, 0);
        for gradient in [-3_000_000, -70_001, 5, 123_456, 2_000_000] {
            let draws = 200_000;
            let sum: f64 = (0..draws)
                .map(|_| f64::from(factor.step(gradient, rng.next_u32() as u16)))
                .sum();
            let exact = f64::from(gradient) * 0.01 * 4.0 / 255_000.0;
            assert!((sum / f64::from(draws) - exact).abs() < 0.005, "{gradient}");
        }
    }

    #[test]
    fn narrow_and_wide_steps_agree_where_both_are_exact() {
        let mut rng = Rng::stream(3, Purpose::Synthetic, 0, 0);
        for _ in 0..100_000 {
            let factor = Factor::new(LearningRate(1 + rng.below(1 << 24)), 4, 255, 1000);
            let gradient = rng.next_u32() as i32 >> (4 + rng.below(20));
            let random = rng.next_u32() as u16;
            let wide = factor.wide_step(i64::from(gradient), random);
            let narrow = factor.step(gradient, random);
            assert!(
                wide - narrow <= 1 && narrow <= wide,
                "{factor:?} {gradient}"
            );
        }
    }

    #[test]
    fn small_numbers_times_a_factor_are_as_wide_steps() {
        let mut rng = Rng::stream(4, Purpose::Synthetic, 0, 0);
        for _ in 0..100_000 {
            let bottom = 256 + (rng.next_u32() >> (1 + rng.below(23)));
            let factor = Factor::ratio(256, u64::from(bottom));
            let (multiplier, shift) = factor.for_small();
            let number = rng.next_u32() as i32 >> (16 + rng.below(15));
            let random = rng.next_u32() as u16;
            assert_eq!(
                ((number * multiplier >> shift) + i32::from(random)) >> 16,
                factor.wide_step(number.into(), random),
                "{factor:?} {number}"
            );
        }
    }

    #[test]
    fn extreme_gradients_saturate() {
        let factor = Factor::new(LearningRate(u32::MAX), 1020, 1, 1);
        assert_eq!(factor.step(i32::MAX, 0), i32::MAX >> 16);
        assert_eq!(factor.step(i32::MIN, u16::MAX), (i32::MIN + 65_535) >> 16);
        assert_eq!(factor.wide_step(i64::MAX, u16::MAX), i32::MAX);
        assert_eq!(factor.wide_step(i64::MIN, 0), i32::MIN);
        assert_eq!(
            Factor::new(LearningRate(0), 4, 255, 10).step(i32::MAX, u16::MAX),
            0
        );
    }
}
