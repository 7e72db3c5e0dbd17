//! The inner loops that decide the speed, for the vector instructions of the machine.
//!
//! Each loop is written once over [`lanes::Lanes`] and compiled for AVX-512, for AVX2 with FMA,
//! and portably; `select` chooses at run time. Lanes are independent and every step is one fused
//! multiply-add, so the three give the same bits. The portable one is slow on an x86 without FMA, where
//! the fused step is done in software; on other architectures the compiler vectorises it.

mod lanes;
mod lanewise;
mod pool;
mod product;
mod rows;
mod scores;
mod select;
mod windows;
mod winograd;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use lanewise::{descend, gate, rectify, repeat};
pub(super) use pool::{CHANNELS, pool};
pub(crate) use product::{Left, multiply};
pub(super) use rows::{Lists, ROW, RowSum, add_rows, word};
pub(super) use scores::errors;
pub use select::{Kernel, KernelError};
pub(super) use windows::{NARROW, Places, ROWS, WIDE, Windows, add_windows};
pub(super) use winograd::{ONE, OUTPUTS, POINTS, TAPS, filters, gather, spread};
