//! The power of two that the errors of one sample share.

/// The power of two of a row of errors, or the mark of a row without any.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Shift(u8);

impl Shift {
    /// Of a row without errors. Assembly that walks over rows looks for it.
    pub(crate) const DEAD: Self = Self(u8::MAX);

    /// Of errors that are mantissas times 2^`shift`, at most 7.
    #[inline(always)]
    pub(crate) const fn new(shift: u32) -> Self {
        Self(shift as u8)
    }

    /// Says whether any error is not zero.
    #[inline(always)]
    pub(crate) const fn is_live(self) -> bool {
        self.0 != Self::DEAD.0
    }

    /// Returns the largest magnitude an error of the row can have, in units of 2^-12.
    pub(crate) const fn most(self) -> u32 {
        if self.is_live() { self.scale(127) } else { 0 }
    }

    /// Returns the factor that stands for pixel `x` in a sum of rows of mantissas.
    #[inline(always)]
    pub(crate) const fn scale(self, x: u32) -> u32 {
        x << (self.0 & 7)
    }
}
