//! Emulated boards: the firmware's images in rp2040js (RP2040), Unicorn (STM32L4R5) and QEMU
//! (Cortex-M4).
//!
//! An emulated board is a child process with its UART on a TCP port; [`runner::Lockstep`] is one
//! with time under the caller's control, for tests that measure emulated time.

pub mod figures;
mod guard;
mod kind;
pub mod line;
pub mod machine;
pub mod prepare;
pub mod qemu;
pub mod rp2040;
pub mod runner;
pub mod trial;
pub mod unicorn;

use std::process::{Command, Stdio};

use crate::device::image::workspace;

pub use crate::device::error::EmulatorError;
pub use kind::Emulator;

/// Tells whether a program is there and starts.
fn answers(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null());
    command.output().is_ok_and(|output| output.status.success())
}
