//! The chip's supply voltage VDDA, which the boards tie to VDD: the converter measures the internal
//! reference, whose reading at 3.0 V is stored in the system memory.
//!
//! The converter driver of embassy-stm32 waits forever if the chip does not answer; this one is on
//! for one conversion (RM0432 and RM0351, chapters on the ADC).

use embassy_stm32::pac;
use embassy_stm32::pac::adc::vals::SampleTime;

#[cfg(feature = "board-stm32l4r5")]
const COMMON: pac::adccommon::AdcCommon = pac::ADC1_COMMON;
#[cfg(feature = "board-stm32l496")]
const COMMON: pac::adccommon::AdcCommon = pac::ADC123_COMMON;

/// Reading of the reference at this voltage (VREFINT_CAL, data sheets, 3.15.2).
const CALIBRATION: *const u16 = 0x1FFF_75AA as *const u16;
const CALIBRATED_AT_MV: u32 = 3_000;

/// Converter clock: a quarter of the core's, 30 MHz at most.
const QUARTER: u8 = 0b11;
/// Start time: the regulator takes 20 us and the reference 12 us; this is 40 us at 120 MHz.
const START_CYCLES: u32 = 4_800;
/// Pause between calibration and start: four cycles of the converter.
const PAUSE_CYCLES: u32 = 32;
/// Number of times the converter is polled; a conversion takes 22 us at 30 MHz.
const LOOKS: u32 = 20_000;

/// Supply range of the chip, with some margin; a reading outside it is discarded.
const PLAUSIBLE_MV: core::ops::RangeInclusive<u32> = 1_600..=4_000;

/// Returns the voltage of VDDA.
pub(super) fn millivolts() -> Option<u16> {
    // SAFETY: the system memory is read-only, mapped and aligned.
    let calibration = u32::from(unsafe { CALIBRATION.read_volatile() });
    pac::RCC.ahb2enr().modify(|enable| enable.set_adcen(true));
    let found = convert();
    pac::RCC.ahb2rstr().modify(|reset| reset.set_adcrst(true));
    pac::RCC.ahb2rstr().modify(|reset| reset.set_adcrst(false));
    pac::RCC.ahb2enr().modify(|enable| enable.set_adcen(false));
    let millivolts = (CALIBRATED_AT_MV * calibration).checked_div(u32::from(found?))?;
    let plausible = PLAUSIBLE_MV.contains(&millivolts);
    plausible.then_some(millivolts as u16)
}

fn convert() -> Option<u16> {
    let converter = pac::ADC1;
    COMMON.ccr().modify(|common| {
        common.set_ckmode(QUARTER);
        common.set_vrefen(true);
    });
    converter.cr().modify(|cr| cr.set_deeppwd(false));
    converter.cr().modify(|cr| cr.set_advregen(true));
    cortex_m::asm::delay(START_CYCLES);
    converter.cr().modify(|cr| cr.set_adcal(true));
    comes(|| !converter.cr().read().adcal())?;
    cortex_m::asm::delay(PAUSE_CYCLES);
    converter.cr().modify(|cr| cr.set_aden(true));
    comes(|| converter.isr().read().adrdy())?;
    // After a reset the sequence is input 0 alone: the reference.
    converter
        .smpr(0)
        .modify(|times| times.set_smp(0, SampleTime::CYCLES640_5));
    converter.cr().modify(|cr| cr.set_adstart(true));
    comes(|| converter.isr().read().eoc())?;
    Some(converter.dr().read().regular_data())
}

fn comes(condition: impl Fn() -> bool) -> Option<()> {
    (0..LOOKS).any(|_| condition()).then_some(())
}
