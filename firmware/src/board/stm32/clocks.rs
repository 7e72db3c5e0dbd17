//! The way to 120 MHz that RM0432 prescribes (section 5.1.8), and the crystal that keeps it there.

use embassy_stm32::peripherals::RCC;
use embassy_stm32::rcc::{self, AHBPrescaler, APBPrescaler, Pll, PllMul, PllPreDiv, PllRDiv};
use embassy_stm32::rcc::{PllSource, Sysclk, mux::Lpuart1sel};
use embassy_stm32::{Peri, pac};
use embassy_time::Timer;

use super::divider::Divider;

/// Wait states of the flash at 120 MHz in range 1 boost (RM0432, section 3.3.3); the library knows
/// four, which are enough for 100 MHz.
const WAIT_STATES: u8 = 5;

/// How often and in what steps the crystal is waited for; 2 s are typical (DS12023, section 6.3.8).
const CRYSTAL_LOOKS: u32 = 500;
const CRYSTAL_STEP_MS: u64 = 10;

/// Climbs from 4 to 120 MHz.
///
/// The library switches to 120 MHz in one step and with too few wait states, so it goes to half of
/// it, and the last step is made here. Of what it remembers only the AHB's clock is then wrong:
/// APB and timers stay at 15 and 30 MHz, which is all that its drivers ask for.
pub(super) fn climb(rcc: &mut Peri<'static, RCC>) {
    boost_voltage();
    rcc::reinit(half_speed(), rcc);
    pac::FLASH.acr().modify(|acr| acr.set_latency(WAIT_STATES));
    while pac::FLASH.acr().read().latency() != WAIT_STATES {}
    Divider::climb();
}

/// 4 MHz MSI times 60 over 2, and the AHB at half of it.
fn half_speed() -> rcc::Config {
    let mut config = rcc::Config {
        pll: Some(Pll {
            source: PllSource::MSI,
            prediv: PllPreDiv::DIV1,
            mul: PllMul::MUL60,
            divp: None,
            divq: None,
            divr: Some(PllRDiv::DIV2),
        }),
        sys: Sysclk::PLL1_R,
        ahb_pre: AHBPrescaler::DIV2,
        apb1_pre: APBPrescaler::DIV4,
        apb2_pre: APBPrescaler::DIV4,
        ..rcc::Config::default()
    };
    config.mux.lpuart1sel = Lpuart1sel::SYS;
    config
}

/// Clears R1MODE of PWR_CR5, which the register crate does not name for this chip.
fn boost_voltage() {
    const CR5_WORDS: usize = 0x80 / 4;
    const R1MODE: u32 = 1 << 8;
    // SAFETY: RM0432, section 5.4.5: PWR_CR5 is at offset 0x80 of PWR, whose clock `init` turned
    // on, and nothing else writes it.
    unsafe {
        let cr5 = pac::PWR.as_ptr().cast::<u32>().add(CR5_WORDS);
        cr5.write_volatile(cr5.read_volatile() & !R1MODE);
    }
}

/// Starts the board's 32,768 Hz crystal and, once it swings, locks the MSI to it: a quarter of a
/// per cent instead of one. A board without the crystal runs on as it is.
///
/// The library would wait for the crystal at every start, and for ever where there is none.
#[embassy_executor::task]
pub(super) async fn lock_to_crystal() {
    // `init` has opened the backup domain for writing.
    pac::RCC.bdcr().modify(|bdcr| bdcr.set_lseon(true));
    for _ in 0..CRYSTAL_LOOKS {
        if pac::RCC.bdcr().read().lserdy() {
            pac::RCC.cr().modify(|cr| cr.set_msipllen(true));
            return;
        }
        Timer::after_millis(CRYSTAL_STEP_MS).await;
    }
    crate::fmt::info!("no 32 kHz crystal: the clock is the chip's own");
}
