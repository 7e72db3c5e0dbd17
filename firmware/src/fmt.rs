//! Log macros: `defmt` on a device that was built with it, nothing elsewhere.

macro_rules! info {
    ($($argument:tt)*) => {{
        #[cfg(feature = "defmt")]
        defmt::info!($($argument)*);
    }};
}

macro_rules! warning {
    ($($argument:tt)*) => {{
        #[cfg(feature = "defmt")]
        defmt::warn!($($argument)*);
    }};
}

pub(crate) use {info, warning};
