//! The CMSDK watchdog: its first expiry raises an interrupt, its second resets. The machine does
//! not report the cause of a reset, so the interrupt writes a mark into RAM that survives it.

use core::mem::MaybeUninit;
use core::ptr;

use gleaner_shared::wire::message::ResetCause;

use super::TICK_HZ;
use super::register::Register;
use crate::board::WATCHDOG_MS;
use crate::platform;

/// The running watchdog.
pub struct ApbWatchdog(());

impl ApbWatchdog {
    const LOAD: Register = Register::at(0x4000_8000);
    const CONTROL: Register = Register::at(0x4000_8008);
    const CLEAR: Register = Register::at(0x4000_800C);
    const COUNT_AND_RESET: u32 = 0b11;

    pub(super) fn start() -> Self {
        set_mark(0);
        Self::LOAD.write(TICK_HZ / 1_000 * WATCHDOG_MS / 2);
        Self::CONTROL.write(Self::COUNT_AND_RESET);
        Self(())
    }
}

impl platform::Watchdog for ApbWatchdog {
    fn feed(&mut self) {
        if mark() == EXPIRED {
            set_mark(0);
        }
        // Any write reloads the counter and cancels a first expiry.
        Self::CLEAR.write(1);
    }
}

/// The mark written by a first expiry.
const EXPIRED: u32 = 0x0D06_B17E;

#[unsafe(link_section = ".retained.watchdog")]
static mut MARK: MaybeUninit<u32> = MaybeUninit::uninit();

fn mark() -> u32 {
    // SAFETY: the section is RAM, and any word is a number; an interrupt between two looks at it
    // only makes it newer.
    unsafe { ptr::read_volatile((&raw const MARK).cast()) }
}

fn set_mark(mark: u32) {
    // SAFETY: as in `mark`.
    unsafe { ptr::write_volatile((&raw mut MARK).cast(), mark) }
}

/// Returns whether the watchdog or the reset button caused the reset.
pub(super) fn cause() -> ResetCause {
    match mark() {
        EXPIRED => ResetCause::Watchdog,
        _ => ResetCause::Pin,
    }
}

/// Handles the first expiry at half of the watchdog's time; feeding it before the second cancels
/// it.
// SAFETY: it writes the mark and nothing else.
#[cortex_m_rt::exception]
unsafe fn NonMaskableInt() {
    set_mark(EXPIRED);
}
