//! What a Nucleo shows while it is measured: the phase on PF13, PF14 and PF15 (D7, D4 and D2), and
//! the clocks that stop while the core waits.

use embassy_stm32::pac;
use embassy_stm32::pac::gpio::regs::Bsrr;
use embassy_stm32::pac::gpio::vals::Moder;
use gleaner_shared::energy::Phase;

use crate::platform::Gauge;

/// The pin of the lowest bit; the others follow.
const FIRST_PIN: u32 = 13;
const PINS: core::ops::Range<usize> = 13..16;

/// The processor's clock.
const CLOCK_HZ: u32 = if cfg!(feature = "board-stm32") {
    120_000_000
} else {
    80_000_000
};

/// The pins.
pub struct Pins(());

impl Pins {
    pub(super) const fn start() -> Self {
        Self(())
    }
}

impl Gauge for Pins {
    fn clock_hz(&self) -> u32 {
        CLOCK_HZ
    }

    fn begin(&mut self) {
        // `init` has turned the port's clock on.
        self.show(Phase::Sleep);
        for pin in PINS {
            pac::GPIOF
                .moder()
                .modify(|moder| moder.set_moder(pin, Moder::OUTPUT));
        }
    }

    fn end(&mut self) {
        for pin in PINS {
            pac::GPIOF
                .moder()
                .modify(|moder| moder.set_moder(pin, Moder::ANALOG));
        }
    }

    fn show(&mut self, phase: Phase) {
        let code = u32::from(phase.code());
        // All three at once: the upper half of the register clears, the lower sets.
        let word = code << FIRST_PIN | (!code & 0b111) << (FIRST_PIN + 16);
        pac::GPIOF.bsrr().write_value(Bsrr(word));
    }
}
