//! Parts specific to the RP2040: chip number, noise source, cause of a reset.

use embassy_rp::pac;
use embassy_time::Duration;
use gleaner_shared::wire::message::{DeviceId, ResetCause};

use super::PicoFlash;
use crate::entropy;

/// The core that shares an epoch.
pub(super) type SecondCore = super::core1::Core1;

/// Returns the flash chip's unique number, or zeros where it cannot be read.
pub(super) fn device_id(flash: Option<&mut PicoFlash>) -> DeviceId {
    /// Bytes of the chip's number on the Pico's flash.
    const UNIQUE_BYTES: usize = 8;
    let mut id = DeviceId::default();
    if let Some(flash) = flash {
        // If the chip does not answer, the number stays zero; the client number of the shard
        // identifies it.
        let _ = flash.blocking_unique_id(&mut id.0[..UNIQUE_BYTES]);
    }
    id
}

/// Gathers entropy from the ring oscillator.
pub(super) fn entropy() -> Option<[u8; 32]> {
    entropy::from_raw_bits(oscillator_bit)
}

/// Reads a bit of the ring oscillator, which runs beside the crystal that clocks the core.
///
/// embassy-rp's `RoscRng` reads as fast as the core can, several times within one period of the
/// oscillator's 6.5 MHz, and gets the same bit again. Raspberry Pi's SDK (`pico_rand`) and ports
/// that passed statistical tests leave about ten microseconds, 65 periods whose jitter adds up.
/// The maker promises no randomness at all (datasheet, 2.17.5), hence the tests and the small
/// share of a bit assumed in [`entropy`].
fn oscillator_bit() -> bool {
    embassy_time::block_for(Duration::from_micros(10));
    pac::ROSC.randombit().read().randombit()
}

/// Reads the cause of the last reset. A reset of the whole chip clears REASON of the watchdog
/// (datasheet, 4.7.6), so a value there is the later event; CHIP_RESET keeps the last reset of the
/// whole chip (2.10.6), with one bit for power-on and brown-out. A reset by the core changes
/// neither: the crash report tells its cause.
pub(super) fn reset_cause() -> ResetCause {
    let reason = pac::WATCHDOG.reason().read();
    let chip = pac::VREG_AND_CHIP_RESET.chip_reset().read();
    if reason.timer() {
        ResetCause::Watchdog
    } else if reason.force() {
        // The program asked the watchdog for a reset, as the boot ROM does after flashing.
        ResetCause::Software
    } else if chip.had_psm_restart() {
        ResetCause::Debugger
    } else if chip.had_run() {
        ResetCause::Pin
    } else {
        ResetCause::PowerOn
    }
}

/// Chooses which clocks stop while both cores wait (datasheet, 2.15.3.5 and CLOCKS: SLEEP_EN0 and
/// SLEEP_EN1): all but those needed to end the wait or to run during it. USB's clock stops only if
/// USB is disconnected. Both cores must have deep sleep enabled (2.11.5.1); core 1 always has.
pub(super) fn gate_in_sleep(deep: bool, without_usb: bool) {
    // SAFETY: this bit belongs to this function alone, and writing it has no other effect.
    let mut scb = unsafe { cortex_m::Peripherals::steal() }.SCB;
    match deep {
        true => scb.set_sleepdeep(),
        false => scb.clear_sleepdeep(),
    }
    let clocks = pac::CLOCKS;
    clocks.sleep_en0().write(|en| {
        en.0 = u32::MAX;
        if deep {
            en.0 = 0;
            en.set_clk_sys_clocks(true);
            en.set_clk_sys_busfabric(true);
            en.set_clk_sys_io(true);
            en.set_clk_sys_pads(true);
            en.set_clk_sys_pll_sys(true);
            en.set_clk_sys_pll_usb(true);
            en.set_clk_sys_psm(true);
            en.set_clk_sys_resets(true);
            en.set_clk_sys_sio(true);
            en.set_clk_sys_sram0(true);
            en.set_clk_sys_sram1(true);
            en.set_clk_sys_sram2(true);
            en.set_clk_sys_sram3(true);
            en.set_clk_sys_vreg_and_chip_reset(true);
        }
    });
    clocks.sleep_en1().write(|en| {
        en.0 = u32::MAX;
        if deep {
            en.0 = 0;
            en.set_clk_sys_sram4(true);
            en.set_clk_sys_sram5(true);
            en.set_clk_sys_timer(true);
            en.set_clk_sys_uart0(true);
            en.set_clk_peri_uart0(true);
            en.set_clk_sys_watchdog(true);
            en.set_clk_sys_xip(true);
            en.set_clk_sys_xosc(true);
            en.set_clk_sys_usbctrl(!without_usb);
            en.set_clk_usb_usbctrl(!without_usb);
        }
    });
}

/// Makes the watchdog reset everything but the oscillators, as Raspberry Pi's SDK does: a reset by
/// the core would leave the peripherals unchanged.
pub(in crate::board) fn reset_now() {
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
