//! Panic and fault handlers: they write a crash report into RAM that survives a reset, then reset
//! the board, so that the client restarts and reports the crash.

use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use core::ptr;

use cortex_m::peripheral::SCB;

use crate::crash::{self, CRASH_BYTES};
use crate::retained::Retained;

#[unsafe(link_section = ".retained.crash")]
static mut CRASH: MaybeUninit<[u8; CRASH_BYTES]> = MaybeUninit::uninit();

/// The RAM that holds the record of the last crash.
pub struct CrashRam(());

impl CrashRam {
    /// Returns access to the record; the board and the handlers below use it.
    pub(super) const fn new() -> Self {
        Self(())
    }
}

impl Retained<CRASH_BYTES> for CrashRam {
    fn read(&self) -> [u8; CRASH_BYTES] {
        // SAFETY: the section is RAM, so a volatile read yields some bytes, and bytes have no
        // invalid value; the handlers, which are the other user, never return.
        unsafe { ptr::read_volatile((&raw const CRASH).cast()) }
    }

    fn write(&mut self, bytes: &[u8; CRASH_BYTES]) {
        // SAFETY: as in `read`.
        unsafe { ptr::write_volatile((&raw mut CRASH).cast(), *bytes) }
    }
}

/// Restarts the board and records that the restart was intended.
pub fn restart() -> ! {
    cortex_m::interrupt::disable();
    crash::record_restart(&mut CrashRam::new());
    reset()
}

/// Resets as much of the chip as the chip can reset by itself.
fn reset() -> ! {
    #[cfg(feature = "board-rp2040")]
    super::rp::reset_now();
    SCB::sys_reset()
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    cortex_m::interrupt::disable();
    crash::record_panic(&mut CrashRam::new(), info);
    #[cfg(feature = "defmt")]
    defmt::error!("{}", defmt::Display2Format(info));
    #[cfg(feature = "board-m4")]
    cortex_m_semihosting::hprintln!("{}", info);
    reset()
}

/// Handles a fault: finds the faulting address and continues on a fresh stack, because the old
/// stack may be the cause. The core pushes LR and PC at offsets 20 and 24; nothing was pushed if
/// the stack pointer is outside the stack.
// SAFETY: only the vector table calls it; it resets the stack pointer and never returns.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn HardFault() -> ! {
    core::arch::naked_asm!(
        "mov r0, lr",
        "movs r1, #4",
        "tst r0, r1",
        "beq 2f",
        "mrs r0, PSP",
        "b 3f",
        "2:",
        "mrs r0, MSP",
        "3:",
        "ldr r2, =_stack_start",
        "ldr r1, =_stack_end",
        "cmp r0, r1",
        "blo 4f",
        "mov r3, r2",
        "subs r3, #32",
        "cmp r0, r3",
        "bhi 4f",
        "ldr r1, [r0, #20]",
        "ldr r0, [r0, #24]",
        "b 5f",
        "4:",
        "movs r0, #0",
        "movs r1, #0",
        "5:",
        "mov sp, r2",
        "bl {faulted}",
        ".pool",
        faulted = sym faulted,
    )
}

extern "C" fn faulted(pc: u32, lr: u32) -> ! {
    crash::record_fault(&mut CrashRam::new(), pc, lr);
    reset()
}
