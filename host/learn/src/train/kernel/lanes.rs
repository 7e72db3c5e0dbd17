//! A vector of `f32` lanes: the operations that kernels need of an instruction set.
#![allow(unsafe_code)]

/// Lanes that are loaded, multiplied, added and stored together.
pub(super) trait Lanes: Copy {
    /// The number of lanes.
    const WIDTH: usize;
    /// Rows of two vectors that a product keeps in registers.
    const PRODUCT_ROWS: usize;

    /// Returns `value` in every lane.
    ///
    /// # Safety
    /// The processor must have the instructions; so for every function here.
    unsafe fn splat(value: f32) -> Self;

    /// Reads `WIDTH` values.
    ///
    /// # Safety
    /// They must be readable at `from`.
    unsafe fn load(from: *const f32) -> Self;

    /// Writes `WIDTH` values.
    ///
    /// # Safety
    /// They must be writable at `to`.
    unsafe fn store(self, to: *mut f32);

    /// Returns `self * factor + addend`, rounded once.
    ///
    /// # Safety
    /// The processor must have the instructions.
    unsafe fn multiply_add(self, factor: Self, addend: Self) -> Self;

    /// Returns `self + other`.
    ///
    /// # Safety
    /// The processor must have the instructions.
    unsafe fn add(self, other: Self) -> Self;
}

/// A vector that has a half-width counterpart.
pub(super) trait Halved: Lanes {
    /// The vector of half the width.
    type Half: Lanes;
}

/// Lanes in plain Rust.
#[derive(Clone, Copy)]
pub(super) struct Portable<const N: usize = 8>([f32; N]);

impl Halved for Portable {
    type Half = Portable<4>;
}

impl<const N: usize> Lanes for Portable<N> {
    const WIDTH: usize = N;
    const PRODUCT_ROWS: usize = 6;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; N])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller vouches for `N` readable values; an array of f32 asks for no more
        // alignment than f32.
        Self(unsafe { from.cast::<[f32; N]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as for `load`, writable.
        unsafe { to.cast::<[f32; N]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, addend: Self) -> Self {
        let mut lanes = addend.0;
        for ((lane, a), b) in lanes.iter_mut().zip(self.0).zip(factor.0) {
            *lane = a.mul_add(b, *lane);
        }
        Self(lanes)
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        let mut lanes = self.0;
        for (lane, b) in lanes.iter_mut().zip(other.0) {
            *lane += b;
        }
        Self(lanes)
    }
}
