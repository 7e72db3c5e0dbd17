//! The voltage of VSYS: the board connects a third of it to GP29, an input of the converter.
//!
//! The converter driver of embassy-rp waits forever if the chip does not answer, and stays on; this
//! one takes the converter out of reset for one conversion. On a Pico W, GP29 is used by the radio.

use embassy_rp::pac;

/// GP29 and its converter input.
const PIN: usize = 29;
const INPUT: u8 = 3;

/// The converter's reference of 3.3 V; VSYS is three times the voltage at the pin.
const REFERENCE_MV: u32 = 3_300;
const STEPS: u32 = 1 << 12;
const DIVIDER: u32 = 3;

/// The lowest input voltage of the board's regulator: a lower reading is not VSYS.
const LEAST_MV: u32 = 1_800;

/// Number of times the converter is polled; a conversion takes 2 us.
const LOOKS: u32 = 2_000;

/// Returns the voltage of VSYS.
pub(super) fn millivolts() -> Option<u16> {
    pac::PADS_BANK0.gpio(PIN).modify(|pad| {
        #[cfg(feature = "board-rp2350")]
        pad.set_iso(false);
        pad.set_ie(false);
        pad.set_od(true);
        pad.set_pue(false);
        pad.set_pde(false);
    });
    pac::RESETS.reset().modify(|reset| reset.set_adc(false));
    let found = convert();
    pac::RESETS.reset().modify(|reset| reset.set_adc(true));
    let millivolts = u32::from(found?) * REFERENCE_MV * DIVIDER / STEPS;
    (millivolts >= LEAST_MV)
        .then_some(millivolts)
        .and_then(|it| u16::try_from(it).ok())
}

fn convert() -> Option<u16> {
    let converter = pac::ADC;
    comes(|| pac::RESETS.reset_done().read().adc())?;
    converter.cs().write(|cs| cs.set_en(true));
    comes(|| converter.cs().read().ready())?;
    converter.cs().write(|cs| {
        cs.set_en(true);
        cs.set_ainsel(INPUT);
        cs.set_start_once(true);
    });
    comes(|| converter.cs().read().ready())?;
    let failed = converter.cs().read().err();
    (!failed).then(|| converter.result().read().result())
}

fn comes(condition: impl Fn() -> bool) -> Option<()> {
    (0..LOOKS).any(|_| condition()).then_some(())
}
