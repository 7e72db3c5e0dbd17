//! Simulated power cuts: the power fails once, inside the flash operation that the host names at
//! start, and the RAM is lost.
//!
//! Two words follow the host's random bytes: the operation, counted from 1 with 0 for none, and a
//! flag that the cut has happened. A reset restores the first word and leaves the second unchanged.

use cortex_m::peripheral::SCB;

use super::register::Register;
use crate::board::memory::RetainedRam;
use crate::retained::{RECORD_BYTES, Retained};

/// Offset behind the random bytes.
const FAILS_AT: usize = 32;
const HAS_FAILED: usize = 36;

/// Counts an operation and returns whether the power fails inside it.
pub(super) fn fails() -> bool {
    let start = super::entropy_address();
    let left = Register::at(start + FAILS_AT);
    if left.read() == 0 || Register::at(start + HAS_FAILED).read() != 0 {
        return false;
    }
    left.write(left.read() - 1);
    left.read() == 0
}

/// Erases what a power cut erases and restarts.
pub(super) fn cut() -> ! {
    RetainedRam::new().write(&[0xA5; RECORD_BYTES]);
    Register::at(super::entropy_address() + HAS_FAILED).write(1);
    SCB::sys_reset()
}
