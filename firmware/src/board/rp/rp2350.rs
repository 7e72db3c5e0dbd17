//! Parts specific to the RP2350: chip number, noise source, cause of a reset, reset range of the
//! watchdog.

use embassy_futures::block_on;
use embassy_rp::peripherals::TRNG;
use embassy_rp::trng::{Config, Trng};
use embassy_rp::{Peri, otp, pac};
use gleaner_shared::mlp::Alone;
use gleaner_shared::wire::message::{DeviceId, ResetCause};

use super::{Irqs, PicoFlash};
use crate::entropy;

/// The second core is not used: training on both was never tested on this chip.
pub(super) type SecondCore = Alone;

/// Returns the chip's number from its fuses, or zeros if they cannot be read; embassy-rp does not
/// read the flash chip's number on this chip.
pub(super) fn device_id(_flash: Option<&mut PicoFlash>) -> DeviceId {
    let mut id = DeviceId::default();
    if let Ok(number) = otp::get_chipid() {
        id.0[..8].copy_from_slice(&number.to_be_bytes());
    }
    id
}

/// Reads eight words from the random number generator, which tests itself (datasheet, 12.12).
///
/// The blocking call of embassy-rp panics after a failed test; its async call restarts the generator. If
/// it never passes, the watchdog resets the board.
pub(super) fn entropy(generator: Peri<'static, TRNG>) -> Option<[u8; 32]> {
    let mut generator = Trng::new(generator, Irqs, Config::default());
    entropy::from_words(|| {
        let mut word = [0; 4];
        block_on(generator.fill_bytes(&mut word));
        u32::from_le_bytes(word)
    })
}

/// Reads the cause of the last reset: REASON of the watchdog if it is set, otherwise the last reset
/// of the whole chip (datasheet, 6.4, CHIP_RESET).
pub(super) fn reset_cause() -> ResetCause {
    let reason = pac::WATCHDOG.reason().read();
    let chip = pac::POWMAN.chip_reset().read();
    if reason.timer() {
        ResetCause::Watchdog
    } else if reason.force() {
        // The program asked the watchdog for a reset, as the boot ROM does after flashing.
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

/// Makes the watchdog reset everything but the oscillators, as Raspberry Pi's SDK does. embassy-rp
/// 0.10 writes the mask of an RP2040, which leaves out this chip's cores (datasheet, 7.3.3).
pub(super) fn let_watchdog_reset_all() {
    const ALL: u32 = 0x01FF_FFFF;
    const ROSC: u32 = 1 << 2;
    const XOSC: u32 = 1 << 3;
    let reset = pac::psm::regs::Wdsel(ALL & !ROSC & !XOSC);
    pac::PSM.wdsel().write_value(reset);
}

/// Stops no clock: the set that can be stopped was not determined for this chip.
pub(super) const fn gate_in_sleep(_deep: bool, _without_usb: bool) {}
