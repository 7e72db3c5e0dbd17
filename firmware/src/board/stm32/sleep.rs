//! The clocks that stop while the core waits.

use embassy_stm32::pac;
use embassy_stm32::pac::rcc::regs::{Ahb1smenr, Ahb2smenr, Ahb3smenr};
use embassy_stm32::pac::rcc::regs::{Apb1smenr1, Apb1smenr2, Apb2smenr};

/// The clocks that run in sleep (RM0432, 6.4.22 to 6.4.28).
#[derive(Clone, Copy)]
pub(super) struct Gates {
    ahb1: Ahb1smenr,
    ahb2: Ahb2smenr,
    ahb3: Ahb3smenr,
    apb1: (Apb1smenr1, Apb1smenr2),
    apb2: Apb2smenr,
}

impl Gates {
    /// Reads the enabled clocks; after a reset, all that the chip has.
    pub(super) fn read() -> Self {
        let rcc = pac::RCC;
        Self {
            ahb1: rcc.ahb1smenr().read(),
            ahb2: rcc.ahb2smenr().read(),
            ahb3: rcc.ahb3smenr().read(),
            apb1: (rcc.apb1smenr1().read(), rcc.apb1smenr2().read()),
            apb2: rcc.apb2smenr().read(),
        }
    }

    /// Returns the clocks of the link, of time and of the memories: the first two end a wait. Pins
    /// hold their levels and the independent watchdog counts without any clock.
    pub(super) fn least() -> Self {
        let mut least = Self {
            ahb1: Ahb1smenr(0),
            ahb2: Ahb2smenr(0),
            ahb3: Ahb3smenr(0),
            apb1: (Apb1smenr1(0), Apb1smenr2(0)),
            apb2: Apb2smenr(0),
        };
        least.ahb1.set_flashsmen(true);
        least.ahb1.set_sram1smen(true);
        least.ahb2.set_sram2smen(true);
        #[cfg(feature = "board-stm32l4r5")]
        least.ahb2.set_sram3smen(true);
        least.apb1.0.set_tim5smen(true);
        least.apb1.0.set_pwrsmen(true);
        least.apb1.1.set_lpuart1smen(true);
        least
    }

    /// Enables these clocks and no others.
    pub(super) fn write(self) {
        let rcc = pac::RCC;
        rcc.ahb1smenr().write_value(self.ahb1);
        rcc.ahb2smenr().write_value(self.ahb2);
        rcc.ahb3smenr().write_value(self.ahb3);
        rcc.apb1smenr1().write_value(self.apb1.0);
        rcc.apb1smenr2().write_value(self.apb1.1);
        rcc.apb2smenr().write_value(self.apb2);
    }
}
