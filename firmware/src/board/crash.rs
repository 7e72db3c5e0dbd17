//! A panic or a fault leaves its last words in RAM that a reset keeps, and ends in a reset, so that
//! the client comes back by itself and says what happened.

use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use core::ptr;

use cortex_m::peripheral::SCB;

use crate::crash::{self, CRASH_BYTES, CrashMemory};

#[unsafe(link_section = ".kept.crash")]
static mut CRASH: MaybeUninit<[u8; CRASH_BYTES]> = MaybeUninit::uninit();

/// The record of the last crash.
pub struct CrashRam(());

impl CrashRam {
    /// Takes hold of it; besides the board, whoever ends the program does.
    pub(super) const fn new() -> Self {
        Self(())
    }
}

impl CrashMemory for CrashRam {
    fn read(&self) -> [u8; CRASH_BYTES] {
        // SAFETY: the section is RAM, so a volatile read yields some bytes, and bytes have no
        // invalid value; the other holder never returns to this one.
        unsafe { ptr::read_volatile((&raw const CRASH).cast()) }
    }

    fn write(&mut self, bytes: &[u8; CRASH_BYTES]) {
        // SAFETY: as in `read`.
        unsafe { ptr::write_volatile((&raw mut CRASH).cast(), *bytes) }
    }
}

/// Restarts the board, and leaves word that this was meant.
pub fn restart() -> ! {
    cortex_m::interrupt::disable();
    crash::leave_restart(&mut CrashRam::new());
    reset()
}

/// Resets the chip in the way that resets most of it.
fn reset() -> ! {
    #[cfg(feature = "board-rp2040")]
    super::rp::reset_now();
    SCB::sys_reset()
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    cortex_m::interrupt::disable();
    crash::leave_panic(&mut CrashRam::new(), info);
    #[cfg(feature = "defmt")]
    defmt::error!("{}", defmt::Display2Format(info));
    #[cfg(feature = "board-m4")]
    cortex_m_semihosting::hprintln!("{}", info);
    reset()
}

/// What a fault ends in: finds where it happened, and goes on with a fresh stack, for the old one may
/// be what is wrong. The words at 20 and 24 of what the core pushed are LR and PC; where the stack
/// pointer has left the stack nothing was pushed.
// SAFETY: the vector table calls it alone; it takes the stack as its own and never returns.
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
    crash::leave_fault(&mut CrashRam::new(), pc, lr);
    reset()
}
