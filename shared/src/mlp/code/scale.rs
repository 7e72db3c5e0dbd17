//! Scales of codes in units of 2^-8 of a layer's unit, and how differences are divided by them.

use super::super::descent::Factor;
use super::CodeError;
use super::change::DIFFERENCE_MAX;

/// A scale of one unit.
pub(super) const SCALE_ONE: u32 = 1 << 8;
/// Differences up to here are scaled in 32-bit arithmetic: those of trained weights.
const SMALL: u32 = (1 << 15) - 1;

/// The scale of a layer and the factor from its differences to codes.
pub(super) struct Scaling {
    pub(super) scale: u32,
    pub(super) factor: Factor,
    largest: u32,
    is_shortened: bool,
}

impl Scaling {
    /// Returns the scale of a layer whose largest difference is given, for codes up to `limit`;
    /// `shortening` are numerator and denominator of a factor below 1 on every difference.
    #[inline(never)]
    pub(super) fn new(largest: u32, limit: u32, shortening: Option<(u32, u32)>) -> Self {
        let one = u64::from(SCALE_ONE);
        let (scale, factor) = match shortening {
            None => {
                let scale = scale_for(largest, limit);
                (scale, Factor::ratio(one, scale.into()))
            }
            Some((bound, length)) => {
                let (bound, length) = (u64::from(bound), u64::from(length));
                // At most 2^30 * 2^32.
                let shortened = (u64::from(largest) * bound).div_ceil(length);
                let scale = scale_for(shortened as u32, limit);
                let (top, bottom) = (one * bound, u64::from(scale) * length);
                // A factor has a bottom below 2^46 and 16 significant bits.
                let excess = (u64::BITS - 46).saturating_sub(bottom.leading_zeros());
                (scale, Factor::ratio(top >> excess, bottom >> excess))
            }
        };
        Self {
            scale,
            factor,
            largest,
            is_shortened: shortening.is_some(),
        }
    }

    /// Returns whether [`Factor::for_small`] suffices.
    pub(super) const fn is_small(&self) -> bool {
        self.largest <= SMALL
    }

    /// Returns whether every difference is its code, so that rounding draws nothing.
    pub(super) const fn is_exact(&self) -> bool {
        self.scale == SCALE_ONE && !self.is_shortened
    }
}

/// Returns the least scale that clips nothing.
const fn scale_for(largest: u32, limit: u32) -> u32 {
    let scale = (largest as u64 * SCALE_ONE as u64).div_ceil(limit as u64) as u32;
    if scale < SCALE_ONE { SCALE_ONE } else { scale }
}

/// Returns a received scale if an encoder may have written it.
pub(super) const fn checked(layer: usize, scale: u32, limit: u32) -> Result<u32, CodeError> {
    if scale < SCALE_ONE || scale > scale_for(DIFFERENCE_MAX as u32, limit) {
        return Err(CodeError::Scale { layer, scale });
    }
    Ok(scale)
}

/// Returns code * scale, rounded to a unit.
#[inline]
pub(super) fn difference(code: i64, scale: u32) -> i32 {
    // |code| may be one above the limit in a forged message: 2^15 * 2^31 >> 8 would exceed 32 bits.
    let limit = i64::from(i32::MAX);
    ((code * i64::from(scale) + 128) >> 8).clamp(-limit, limit) as i32
}
