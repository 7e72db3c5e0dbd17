//! The machine's power supply: it fails inside the operation of the flash that the host names at
//! the start, once, and takes the RAM with it.
//!
//! Two words behind the host's random bytes: the operation, counted from 1, 0 for none; and whether
//! it is over. A reset brings the first one back and leaves the second alone.

use cortex_m::peripheral::SCB;

use super::register::Register;
use crate::board::memory::RetainedRam;
use crate::retained::{RECORD_BYTES, Retained};

/// Behind the random bytes.
const FAILS_AT: usize = 32;
const HAS_FAILED: usize = 36;

/// Tells whether the power fails inside this operation; it counts every one it is asked of.
pub(super) fn fails() -> bool {
    let start = super::entropy_address();
    let left = Register::at(start + FAILS_AT);
    if left.read() == 0 || Register::at(start + HAS_FAILED).read() != 0 {
        return false;
    }
    left.write(left.read() - 1);
    left.read() == 0
}

/// Loses what a power cut loses, and starts again.
pub(super) fn cut() -> ! {
    RetainedRam::new().write(&[0xA5; RECORD_BYTES]);
    Register::at(super::entropy_address() + HAS_FAILED).write(1);
    SCB::sys_reset()
}
