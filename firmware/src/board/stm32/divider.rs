//! The core's clock divider; the clock of the time driver stays the same.

use embassy_stm32::pac;
use embassy_stm32::rcc::{AHBPrescaler, APBPrescaler};

/// The factor by which the core divides the system clock. The buses behind it divide by eight over
/// that factor, so that they run at an eighth of the system clock and TIM5, at twice the bus clock,
/// at a quarter; LPUART1 uses the system clock itself (RM0432, 6.2 and 6.4.3).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Divider {
    One,
    Two,
    Four,
}

impl Divider {
    /// All dividers, fastest first.
    pub(super) const ALL: [Self; 3] = [Self::One, Self::Two, Self::Four];

    pub(super) const fn number(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// Sets the divider; both registers change with one write, and the bus may gain or lose about
    /// 16 core cycles. Flash keeps the wait states of the fastest clock.
    pub(super) fn set(self) {
        let (core, buses) = match self {
            Self::One => (AHBPrescaler::DIV1, APBPrescaler::DIV8),
            Self::Two => (AHBPrescaler::DIV2, APBPrescaler::DIV4),
            Self::Four => (AHBPrescaler::DIV4, APBPrescaler::DIV2),
        };
        pac::RCC.cfgr().modify(|cfgr| {
            cfgr.set_hpre(core);
            cfgr.set_ppre1(buses);
            cfgr.set_ppre2(buses);
        });
    }

    /// Sets the fastest clock by way of half of it: above 80 MHz RM0432 asks for a microsecond at
    /// half speed (section 5.1.8).
    pub(super) fn climb() {
        /// A microsecond at 60 MHz, twice.
        const STEP_CYCLES: u32 = 120;
        Self::Two.set();
        cortex_m::asm::delay(STEP_CYCLES);
        Self::One.set();
    }
}
