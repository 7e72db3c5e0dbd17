//! What the STM32 says it was reset by.

use embassy_stm32::pac;
use gleaner_shared::wire::message::ResetCause;

/// Reads the flags of RCC_CSR (RM0432, 6.4.31) and clears them, for they add up. Every reset inside
/// the chip pulls its pin as well, so the pin's flag counts last; the brown-out flag comes with power
/// that comes, too.
pub(super) fn cause() -> ResetCause {
    let flags = pac::RCC.csr().read();
    pac::RCC.csr().modify(|csr| csr.set_rmvf(true));
    pac::RCC.csr().modify(|csr| csr.set_rmvf(false));
    if flags.iwdgrstf() || flags.wwdgrstf() {
        ResetCause::Watchdog
    } else if flags.borrstf() {
        ResetCause::BrownOut
    } else if flags.sftrstf() {
        // The program leaves word when it asks for it; a debugger does not.
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
