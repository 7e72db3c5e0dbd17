//! Log macros: `defmt`'s on a device that was built with it, nothing elsewhere.

#[cfg(feature = "defmt")]
pub(crate) use defmt::{info, warn as warning};

#[cfg(not(feature = "defmt"))]
macro_rules! nothing {
    ($text:literal $(, $argument:expr)*) => {{ $(let _ = &$argument;)* }};
}

#[cfg(not(feature = "defmt"))]
pub(crate) use {nothing as info, nothing as warning};
