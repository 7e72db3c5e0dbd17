//! Measurement support of a Nucleo: the phase on PF13, PF14 and PF15 (D7, D4 and D2), the core's
//! clock divider, the clocks that stop while the core waits, and the chip's voltage.

use embassy_stm32::pac;
use embassy_stm32::pac::gpio::regs::Bsrr;
use embassy_stm32::pac::gpio::vals::Moder;
use gleaner_shared::energy::Phase;

use super::divider::Divider;
use super::sleep::Gates;
use super::voltmeter;
use crate::platform::Gauge;

/// The pin of the lowest bit; the other two follow.
const FIRST_PIN: u32 = 13;
const PINS: core::ops::Range<usize> = 13..16;

/// The processor's fastest clock, in hertz.
const CLOCK_HZ: u32 = if cfg!(feature = "board-stm32l4r5") {
    120_000_000
} else {
    80_000_000
};

/// Pins, clock divider and clock gates.
pub struct NucleoGauge {
    /// The clock gates after a reset.
    all: Gates,
    deep: bool,
    divider: Divider,
}

impl NucleoGauge {
    pub(super) fn start() -> Self {
        let mut gauge = Self {
            all: Gates::read(),
            deep: false,
            divider: Divider::One,
        };
        gauge.sleep_deep(true);
        gauge
    }
}

impl Gauge for NucleoGauge {
    fn clock_hz(&self) -> u32 {
        CLOCK_HZ / self.divider.number()
    }

    fn set_clock(&mut self, hz: u32) -> bool {
        let fits = |divider: &Divider| CLOCK_HZ / divider.number() == hz;
        let Some(divider) = Divider::ALL.into_iter().find(fits) else {
            return false;
        };
        match divider {
            Divider::One => Divider::climb(),
            slower => slower.set(),
        }
        self.divider = divider;
        true
    }

    fn begin(&mut self) {
        // `init` has enabled the port's clock.
        self.show(Phase::Sleep);
        for pin in PINS {
            pac::GPIOF
                .moder()
                .modify(|moder| moder.set_moder(pin, Moder::OUTPUT));
        }
        self.sleep_deep(false);
        // `init` keeps the bus running in sleep for a debugger, whatever the gates say.
        pac::DBGMCU.cr().modify(|cr| cr.set_dbg_sleep(false));
    }

    fn end(&mut self) {
        self.set_clock(CLOCK_HZ);
        for pin in PINS {
            pac::GPIOF
                .moder()
                .modify(|moder| moder.set_moder(pin, Moder::ANALOG));
        }
        pac::DBGMCU.cr().modify(|cr| cr.set_dbg_sleep(true));
        self.sleep_deep(true);
    }

    fn show(&mut self, phase: Phase) {
        let code = u32::from(phase.code());
        // One write for all three: the upper half of the register clears, the lower half sets.
        let word = code << FIRST_PIN | (!code & 0b111) << (FIRST_PIN + 16);
        pac::GPIOF.bsrr().write_value(Bsrr(word));
    }

    fn sleep_deep(&mut self, deep: bool) {
        match deep {
            true => Gates::least().write(),
            false => self.all.write(),
        }
        self.deep = deep;
    }

    fn waits_in(&self) -> Phase {
        match self.deep {
            true => Phase::Sleep,
            false => Phase::Idle,
        }
    }

    fn millivolts(&mut self) -> Option<u16> {
        voltmeter::millivolts()
    }
}
