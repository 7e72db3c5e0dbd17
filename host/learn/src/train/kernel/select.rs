//! Which instructions the kernels use: found at run time, or chosen by `GLEANER_KERNEL`.

use std::fmt;
use std::sync::OnceLock;

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

/// The wish in `GLEANER_KERNEL` cannot be granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{wanted}` is not available here: choose one of {}", available.join(", "))]
pub struct KernelError {
    wanted: String,
    available: Vec<&'static str>,
}

impl Kernel {
    /// Plain Rust.
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

    /// Returns the kernel called `name`.
    ///
    /// # Errors
    /// When there is none of that name or this machine cannot run it.
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
    fn names_what_there_is_when_a_kernel_is_not() {
        assert_eq!(Kernel::named("portable"), Ok(Kernel::PORTABLE));
        let said = Kernel::named("abacus").unwrap_err().to_string();
        assert!(
            said.starts_with("kernel `abacus` is not available here"),
            "{said}"
        );
        assert!(said.contains("portable"), "{said}");
    }
}
