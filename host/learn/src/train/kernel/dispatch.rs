//! Compiles a generic kernel for each instruction set and picks one at run time.

macro_rules! dispatch {
    ($kernel:expr, $generic:ident, ($($argument:ident : $kind:ty),* $(,)?)) => {{
        #[cfg(target_arch = "x86_64")]
        use std::arch::x86_64::{__m256, __m512};

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        fn avx512($($argument: $kind),*) {
            // SAFETY: this function is compiled for AVX-512.
            unsafe { $generic::<__m512>($($argument),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn avx2($($argument: $kind),*) {
            // SAFETY: this function is compiled for AVX2 and FMA.
            unsafe { $generic::<__m256>($($argument),*) }
        }
        match $kernel.level() {
            // SAFETY: a kernel of this level exists only where detection found it.
            #[cfg(target_arch = "x86_64")]
            $crate::train::kernel::select::Level::Avx512 => unsafe { avx512($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            $crate::train::kernel::select::Level::Avx2 => unsafe { avx2($($argument),*) },
            // SAFETY: plain Rust needs no special instruction.
            $crate::train::kernel::select::Level::Portable => unsafe {
                $generic::<$crate::train::kernel::lanes::Portable>($($argument),*)
            },
        }
    }};
}

pub(super) use dispatch;
