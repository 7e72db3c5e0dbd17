//! The lanes of AVX2 with FMA, and of AVX-512.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m128, __m256, __m512, _mm_add_ps, _mm_fmadd_ps, _mm_loadu_ps, _mm_set1_ps, _mm_storeu_ps,
    _mm256_add_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_storeu_ps,
    _mm512_add_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps, _mm512_storeu_ps,
};

use super::lanes::{Halved, Lanes};

macro_rules! lanes {
    ($vector:ty, $width:literal, $rows:literal, $splat:ident, $load:ident, $store:ident,
     $fused:ident, $add:ident) => {
        impl Lanes for $vector {
            const WIDTH: usize = $width;
            const PRODUCT_ROWS: usize = $rows;

            #[inline(always)]
            unsafe fn splat(value: f32) -> Self {
                // SAFETY: the caller has checked that the processor has the instruction.
                unsafe { $splat(value) }
            }

            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                // SAFETY: as for `splat`; the caller vouches for the memory, and the
                // instruction takes any alignment.
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                // SAFETY: as for `load`.
                unsafe { $store(to, self) }
            }

            #[inline(always)]
            unsafe fn multiply_add(self, factor: Self, addend: Self) -> Self {
                // SAFETY: as for `splat`.
                unsafe { $fused(self, factor, addend) }
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: as for `splat`.
                unsafe { $add(self, other) }
            }
        }
    };
}

lanes!(
    __m128,
    4,
    6,
    _mm_set1_ps,
    _mm_loadu_ps,
    _mm_storeu_ps,
    _mm_fmadd_ps,
    _mm_add_ps
);
lanes!(
    __m256,
    8,
    6,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_fmadd_ps,
    _mm256_add_ps
);
lanes!(
    __m512,
    16,
    9,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_fmadd_ps,
    _mm512_add_ps
);

impl Halved for __m256 {
    type Half = __m128;
}

impl Halved for __m512 {
    type Half = __m256;
}
