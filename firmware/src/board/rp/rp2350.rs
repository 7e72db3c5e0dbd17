//! What is the RP2350's own: its number, its noise, what it says it was reset by and the reach of its
//! watchdog.

use embassy_futures::block_on;
use embassy_rp::peripherals::TRNG;
use embassy_rp::trng::{Config, Trng};
use embassy_rp::{Peri, otp, pac};
use gleaner_shared::mlp::Alone;
use gleaner_shared::wire::message::{DeviceId, ResetCause};

use super::{Irqs, PicoFlash};
use crate::entropy;

/// Not measured: what the Cortex-M4 takes, whose kernels run here.
pub(super) const CYCLES_PER_SAMPLE: u32 = 44_000;

/// Its second core rests: nothing here has shown the two at work.
pub(super) type SecondCore = Alone;

/// Returns the chip's own number out of its fuses, or zeros where they cannot be read; the library
/// does not ask this chip's flash for one.
pub(super) fn device_id(_flash: Option<&mut PicoFlash>) -> DeviceId {
    let mut id = DeviceId::default();
    if let Ok(number) = otp::get_chipid() {
        id.0[..8].copy_from_slice(&number.to_be_bytes());
    }
    id
}

/// Gathers eight words of the generator, which tests itself (datasheet, 12.12).
///
/// The library's blocking call panics after a test that failed, its other one starts the generator
/// again; one that never passes ends with the watchdog.
pub(super) fn entropy(generator: Peri<'static, TRNG>) -> Option<[u8; 32]> {
    let mut generator = Trng::new(generator, Irqs, Config::default());
    entropy::from_words(|| {
        let mut word = [0; 4];
        block_on(generator.fill_bytes(&mut word));
        u32::from_le_bytes(word)
    })
}

/// Reads the chip's registers: REASON of the watchdog where it says something, otherwise the last
/// reset of the whole chip (datasheet, 6.4, CHIP_RESET).
pub(super) fn reset_cause() -> ResetCause {
    let reason = pac::WATCHDOG.reason().read();
    let chip = pac::POWMAN.chip_reset().read();
    if reason.timer() {
        ResetCause::Watchdog
    } else if reason.force() {
        // A program asked the watchdog for it, as the boot ROM does after flashing.
        ResetCause::Software
    } else if chip.had_dp_reset_req() || chip.had_rescue() {
        ResetCause::Debugger
    } else if chip.had_run_low() {
        ResetCause::Pin
    } else if chip.had_bor() && !chip.had_por() {
        ResetCause::BrownOut
    } else {
        ResetCause::PowerOn
    }
}

/// Has the watchdog reset everything but the oscillators, as the maker's own library does. embassy-rp
/// 0.10 writes the mask of an RP2040, in which this chip's cores are missing (datasheet, 7.3.3).
pub(super) fn let_watchdog_reset_all() {
    const ALL: u32 = 0x01FF_FFFF;
    const ROSC: u32 = 1 << 2;
    const XOSC: u32 = 1 << 3;
    let reset = pac::psm::regs::Wdsel(ALL & !ROSC & !XOSC);
    pac::PSM.wdsel().write_value(reset);
}

/// Stops nothing: which clocks a wait can do without was not worked out for this chip.
pub(super) const fn gate_in_sleep(_deep: bool, _without_usb: bool) {}
