//! The cause of the last reset of an STM32.

use embassy_stm32::pac;
use gleaner_shared::wire::message::ResetCause;

/// Reads the flags of RCC_CSR (RM0432, 6.4.31) and clears them, because they accumulate. Every
/// internal reset also pulls the reset pin, so the pin's flag counts last; the brown-out flag is
/// set at power-on, too.
pub(super) fn cause() -> ResetCause {
    let flags = pac::RCC.csr().read();
    pac::RCC.csr().modify(|csr| csr.set_rmvf(true));
    pac::RCC.csr().modify(|csr| csr.set_rmvf(false));
    if flags.iwdgrstf() || flags.wwdgrstf() {
        ResetCause::Watchdog
    } else if flags.borrstf() {
        ResetCause::BrownOut
    } else if flags.sftrstf() {
        // The program records its own restarts; a debugger does not.
        ResetCause::Debugger
    } else {
        ResetCause::Pin
    }
}

/// Stops the watchdog's clock while a debugger has stopped the core (RM0432, DBGMCU_APB1FZR1).
pub(super) fn freeze_watchdog_under_debug() {
    pac::DBGMCU
        .apb1fzr1()
        .modify(|freeze| freeze.set_iwdg(true));
}
