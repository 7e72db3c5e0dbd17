//! The boards: exactly one is compiled, chosen by its feature; chips of one family share a folder.
//!
//! A board supplies clocks, the link's bytes, a cycle counter, a watchdog and an LED as a
//! [`Board`](crate::platform::Board); no module above depends on which board it is.

#[cfg(feature = "board-m4")]
pub mod m4;
#[cfg(feature = "_rp")]
pub mod rp;
#[cfg(feature = "_stm32")]
pub mod stm32;

// The destination of log records; linked for its side effect.
#[cfg(feature = "defmt")]
use defmt_rtt as _;

#[cfg(feature = "_device")]
mod clock;
#[cfg(feature = "_device")]
mod crash;
#[cfg(feature = "_device")]
mod memory;
#[cfg(any(feature = "_rp", feature = "_stm32"))]
mod shared;
#[cfg(feature = "_rp")]
mod systick;

/// Baud rate of every board's UART: the fastest that common USB bridges and ST-Links support.
pub const BAUD: u32 = 921_600;

#[cfg(feature = "_device")]
pub use memory::client_memory;

/// A board that makes no progress for this long is reset by its watchdog.
pub const WATCHDOG_MS: u32 = 2_000;
