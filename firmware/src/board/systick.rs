//! SysTick as a free-running cycle counter, for chips without a DWT cycle counter.

use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{Peripherals, SYST};
use gleaner_shared::units::Cycles;

use crate::platform::CycleCounter;

/// SysTick counts 24 bits down at the core's clock.
const MASK: u32 = 0x00FF_FFFF;

/// The running SysTick timer.
pub struct SysTickCounter(());

impl SysTickCounter {
    pub fn start() -> Self {
        // SAFETY: SysTick belongs to this type alone: the time drivers of our boards use the
        // chips' own timers, and a board starts one counter.
        let mut syst = unsafe { Peripherals::steal() }.SYST;
        syst.set_clock_source(SystClkSource::Core);
        syst.set_reload(MASK);
        syst.clear_current();
        syst.enable_counter();
        Self(())
    }
}

impl CycleCounter for SysTickCounter {
    fn read(&self) -> u32 {
        SYST::get_current()
    }

    fn between(&self, start: u32, end: u32) -> Cycles {
        Cycles(u64::from(start.wrapping_sub(end) & MASK))
    }
}
