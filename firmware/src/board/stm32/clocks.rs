//! The switch to 120 MHz that RM0432 prescribes (section 5.1.8), and the crystal that stabilises
//! it.

use embassy_stm32::peripherals::RCC;
use embassy_stm32::rcc::{self, AHBPrescaler, APBPrescaler, Pll, PllMul, PllPreDiv, PllRDiv};
use embassy_stm32::rcc::{PllSource, Sysclk, mux::Lpuart1sel};
use embassy_stm32::{Peri, pac};
use embassy_time::Timer;

use super::divider::Divider;

/// Wait states of the flash at 120 MHz in range 1 boost (RM0432, section 3.3.3); embassy-stm32 sets
/// four, which are enough for 100 MHz.
const WAIT_STATES: u8 = 5;

/// Number and interval of polls for the crystal; it typically starts in 2 s (DS12023, section
/// 6.3.8).
const CRYSTAL_LOOKS: u32 = 500;
const CRYSTAL_STEP_MS: u64 = 10;

/// Switches from 4 to 120 MHz.
///
/// embassy-stm32 would switch in one step and with too few wait states, so it switches to half the
/// clock and the last step is done here. Of the clocks it remembers only that of the AHB is then
/// wrong: APB and timers stay at 15 and 30 MHz, which its drivers use.
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

/// Starts the board's 32,768 Hz crystal and, once it is stable, locks the MSI to it: 0.25 %
/// accuracy instead of 1 %. A board without the crystal keeps running on the MSI alone.
///
/// embassy-stm32 would wait for the crystal at every start, forever if there is none.
#[embassy_executor::task]
pub(super) async fn lock_to_crystal() {
    // `init` has enabled writes to the backup domain.
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
