//! The choice of instructions for the kernels: detected at run time, or set by `GLEANER_KERNEL`.

use std::fmt;
use std::sync::OnceLock;

/// Compiles a generic kernel for each instruction set and calls the chosen one.
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

/// A set of instructions that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Level);

/// Private, so that a [`Kernel`] exists only where its instructions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// `GLEANER_KERNEL` names a kernel that this machine does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{wanted}` is not available here: choose one of {}", available.join(", "))]
pub struct KernelError {
    wanted: String,
    available: Vec<&'static str>,
}

impl Kernel {
    /// The kernel in plain Rust, which every machine can run.
    pub(crate) const PORTABLE: Self = Self(Level::Portable);

    /// Returns every kernel this machine can run, the fastest first.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                kernels.push(Self(Level::Avx512));
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                kernels.push(Self(Level::Avx2));
            }
        }
        kernels.push(Self::PORTABLE);
        kernels
    }

    /// Returns the kernel with this name.
    ///
    /// # Errors
    /// When there is none, or this machine cannot run it.
    pub fn named(name: &str) -> Result<Self, KernelError> {
        let available = Self::available();
        available
            .iter()
            .copied()
            .find(|kernel| kernel.name() == name)
            .ok_or_else(|| KernelError {
                wanted: name.to_owned(),
                available: available.iter().map(|kernel| kernel.name()).collect(),
            })
    }

    /// Returns the kernel named by `GLEANER_KERNEL`, else the fastest.
    ///
    /// # Errors
    /// As [`Kernel::named`].
    pub fn chosen() -> Result<Self, KernelError> {
        static CHOSEN: OnceLock<Result<Kernel, KernelError>> = OnceLock::new();
        CHOSEN
            .get_or_init(|| match std::env::var("GLEANER_KERNEL") {
                Ok(name) if !name.is_empty() => Self::named(&name),
                _ => Ok(Self::available()[0]),
            })
            .clone()
    }

    /// Returns `avx512`, `avx2` or `portable`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "avx512",
        }
    }

    pub(super) const fn level(self) -> Level {
        self.0
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kernel_is_refused_with_the_available_ones() {
        assert_eq!(Kernel::named("portable"), Ok(Kernel::PORTABLE));
        let refused = Kernel::named("abacus").unwrap_err();
        assert!(refused.available.contains(&"portable"));
    }
}
