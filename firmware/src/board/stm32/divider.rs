//! The core's clock by its divider, while the clock by which time is kept stays as it is.

use embassy_stm32::pac;
use embassy_stm32::rcc::{AHBPrescaler, APBPrescaler};

/// What the core divides the system clock by. The buses behind it divide by what is missing to eight,
/// so that their clock is an eighth of it and that of TIM5, twice theirs, a quarter whatever the
/// core's is; LPUART1 has the system clock itself (RM0432, 6.2 and 6.4.3).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Divider {
    One,
    Two,
    Four,
}

impl Divider {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::One, Self::Two, Self::Four];

    /// Returns it as a number.
    pub(super) const fn number(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// Has the core run with it, both dividers changed by one write; the bus may miss or gain some
    /// 16 cycles of the core meanwhile. Flash keeps the wait states of the fastest clock.
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

    /// Has the core run at its fastest, by way of half of it: above 80 MHz RM0432 asks for a
    /// microsecond there (section 5.1.8).
    pub(super) fn climb() {
        /// Twice that, at 60 MHz.
        const STEP_CYCLES: u32 = 120;
        Self::Two.set();
        cortex_m::asm::delay(STEP_CYCLES);
        Self::One.set();
    }
}
