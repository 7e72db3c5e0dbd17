//! The CMSDK watchdog: its first expiry is an interrupt, its second a reset. The machine does not say
//! what it was reset by, so the first leaves a mark.

use core::mem::MaybeUninit;
use core::ptr;

use gleaner_shared::wire::message::ResetCause;

use super::TICK_HZ;
use super::register::Register;
use crate::board::WATCHDOG_MS;
use crate::platform;

/// The watchdog, running.
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
        // Any write reloads the counter and takes a first expiry back.
        Self::CLEAR.write(1);
    }
}

/// The mark of a first expiry.
const EXPIRED: u32 = 0x0D06_B17E;

#[unsafe(link_section = ".kept.watchdog")]
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

/// Tells a bite of the watchdog from the button, which is all there is besides power.
pub(super) fn cause() -> ResetCause {
    match mark() {
        EXPIRED => ResetCause::Watchdog,
        _ => ResetCause::Pin,
    }
}

/// The first expiry, half of the watchdog's time: the program has the other half to feed it.
// SAFETY: it touches the mark alone.
#[cortex_m_rt::exception]
unsafe fn NonMaskableInt() {
    set_mark(EXPIRED);
}
