//! Measurement support of a Pico: the phase on GP2, GP3 and GP4, the core's clock divider, the
//! clocks that stop while both cores wait, and the voltage of VSYS.

use embassy_rp::gpio::{AnyPin, Flex};
use embassy_rp::{Peri, clocks, pac};
use gleaner_shared::energy::Phase;

use super::{chip, ports, voltmeter};
use crate::platform::Gauge;

/// The pin of the lowest bit; the other two follow.
const FIRST_PIN: u32 = 2;
const PINS: u32 = 0b111 << FIRST_PIN;

/// The largest divider offered.
const SLOWEST: u32 = 4;
/// USB needs a core clock at least as fast as its own.
const USB_HZ: u32 = 48_000_000;

/// Pins, clock divider and clock gates.
pub struct PicoGauge {
    pins: [Flex<'static>; 3],
    divider: u32,
    deep: bool,
    /// Whether USB was disconnected for the measurement.
    unplugged: bool,
}

impl PicoGauge {
    pub(super) fn new(pins: [Peri<'static, AnyPin>; 3]) -> Self {
        let mut gauge = Self {
            pins: pins.map(Flex::new),
            divider: 1,
            deep: false,
            unplugged: false,
        };
        gauge.sleep_deep(true);
        gauge
    }

    fn divide(&mut self, divider: u32) {
        // The integer part may change at any time without a glitch (RP2040 datasheet, 2.15.3.3);
        // clk_ref, by which time is kept, and clk_peri do not come from here.
        pac::CLOCKS
            .clk_sys_div()
            .write(|div| div.set_int(divider as _));
        self.divider = divider;
    }
}

impl Gauge for PicoGauge {
    fn clock_hz(&self) -> u32 {
        clocks::clk_sys_freq() / self.divider
    }

    fn set_clock(&mut self, hz: u32) -> bool {
        let fastest = clocks::clk_sys_freq();
        let least = if self.unplugged { 0 } else { USB_HZ };
        let fits = |divider: &u32| fastest / divider == hz && hz >= least;
        match (1..=SLOWEST).find(fits) {
            Some(divider) => {
                self.divide(divider);
                true
            }
            None => false,
        }
    }

    fn begin(&mut self) {
        for pin in &mut self.pins {
            pin.set_low();
            pin.set_as_output();
        }
        self.sleep_deep(false);
        if ports::is_at_uart() {
            self.unplugged = true;
            pac::USB.sie_ctrl().modify(|sie| sie.set_pullup_en(false));
        }
    }

    fn end(&mut self) {
        self.divide(1);
        for pin in &mut self.pins {
            pin.set_as_input();
        }
        if core::mem::take(&mut self.unplugged) {
            pac::USB.sie_ctrl().modify(|sie| sie.set_pullup_en(true));
        }
        self.sleep_deep(true);
    }

    fn show(&mut self, phase: Phase) {
        let code = u32::from(phase.code()) << FIRST_PIN;
        let out = pac::SIO.gpio_out(0);
        // Sets all three pins with one write.
        let differing = (out.value().read() ^ code) & PINS;
        out.value_xor().write_value(differing);
    }

    fn sleep_deep(&mut self, deep: bool) {
        chip::gate_in_sleep(deep, self.unplugged);
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
