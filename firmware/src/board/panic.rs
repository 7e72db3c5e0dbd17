//! A panic or a fault ends in a reset, so that the client comes back by itself; under an emulator
//! it ends the emulation with a failure, so that a test sees it.

use core::panic::PanicInfo;

use cortex_m_rt::{ExceptionFrame, exception};

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    cortex_m::interrupt::disable();
    #[cfg(feature = "defmt")]
    defmt::error!("{}", defmt::Display2Format(info));
    #[cfg(feature = "board-emulated")]
    cortex_m_semihosting::hprintln!("{}", info);
    let _ = info;
    stop()
}

// SAFETY: runs on the stack that faulted and touches nothing but the reset register.
#[exception]
unsafe fn HardFault(_frame: &ExceptionFrame) -> ! {
    stop()
}

fn stop() -> ! {
    #[cfg(feature = "board-emulated")]
    cortex_m_semihosting::debug::exit(cortex_m_semihosting::debug::EXIT_FAILURE);
    cortex_m::peripheral::SCB::sys_reset()
}
