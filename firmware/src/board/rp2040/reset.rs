//! What the RP2040 says it was reset by.

use embassy_rp::pac;
use gleaner_shared::wire::message::ResetCause;

/// Reads the chip's registers. REASON of the watchdog is cleared by a reset of the whole chip
/// (datasheet, 4.7.6), so where it says something that was the later event; CHIP_RESET keeps the
/// last reset of the whole chip (2.10.6), and has one bit for power that comes and brown-outs. A
/// reset by the core itself leaves both alone: the program's last words tell it.
pub(super) fn cause() -> ResetCause {
    let reason = pac::WATCHDOG.reason().read();
    let chip = pac::VREG_AND_CHIP_RESET.chip_reset().read();
    if reason.timer() {
        ResetCause::Watchdog
    } else if reason.force() {
        // A program asked the watchdog for it, as the boot ROM does after flashing.
        ResetCause::Software
    } else if chip.had_psm_restart() {
        ResetCause::Debugger
    } else if chip.had_run() {
        ResetCause::Pin
    } else {
        ResetCause::PowerOn
    }
}

/// Asks the watchdog for a reset of everything but the oscillators, as Raspberry Pi's SDK does: a
/// reset by the core would leave the peripherals as they are.
pub(in crate::board) fn now() {
    /// Every part of the power-on state machine but ROSC and XOSC (datasheet, 2.13.5).
    const ALL_BUT_OSCILLATORS: u32 = 0x0001_FFFC;
    pac::PSM
        .wdsel()
        .write_value(pac::psm::regs::Wdsel(ALL_BUT_OSCILLATORS));
    pac::WATCHDOG.ctrl().modify(|ctrl| {
        // A watchdog that a debugger stopped would not fire.
        ctrl.set_pause_dbg0(false);
        ctrl.set_pause_dbg1(false);
        ctrl.set_pause_jtag(false);
        ctrl.set_enable(true);
        ctrl.set_trigger(true);
    });
}
