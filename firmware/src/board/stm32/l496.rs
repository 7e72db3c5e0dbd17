//! The clock of the STM32L496.

use embassy_stm32::rcc::mux::Lpuart1sel;
use embassy_stm32::rcc::{self, APBPrescaler};
use embassy_stm32::rcc::{Pll, PllMul, PllPreDiv, PllRDiv, PllSource, Sysclk};

/// 4 MHz MSI times 40 over 2: 80 MHz, the chip's limit in range 1, where it starts. The library sets
/// the four wait states of the flash that go with it before it switches (RM0351, sections 3.3.3 and
/// 6.2.8); no step on the way up is asked for. The buses start as [`Divider::One`](super::divider::Divider)
/// has them.
///
/// LPUART1 runs from the same 80 MHz: 256 times that over 921,600 is 22,222.2, so that the divider of
/// 22,222 is off by 10 in a million and within its bounds, 0x300 and 0xFFFFF (RM0351, section 41.4.4).
pub(super) fn fastest_clock() -> rcc::Config {
    let mut config = rcc::Config {
        pll: Some(Pll {
            source: PllSource::MSI,
            prediv: PllPreDiv::DIV1,
            mul: PllMul::MUL40,
            divp: None,
            divq: None,
            divr: Some(PllRDiv::DIV2),
        }),
        sys: Sysclk::PLL1_R,
        apb1_pre: APBPrescaler::DIV8,
        apb2_pre: APBPrescaler::DIV8,
        ..rcc::Config::default()
    };
    config.mux.lpuart1sel = Lpuart1sel::SYS;
    config
}
