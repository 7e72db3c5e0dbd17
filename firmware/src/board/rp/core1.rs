//! The second core: it waits in RAM for jobs from core 0.
//!
//! No interrupt reaches it and no task runs on it. Its waiting loop is in RAM, so that flash can be
//! written while it waits; core 0 always waits until a job is done. A job that never ends leaves
//! the watchdog unfed.

use core::arch::naked_asm;
use core::ptr::{self, addr_of};
use core::sync::atomic::{AtomicPtr, Ordering};

use cortex_m::asm;
use embassy_rp::Peri;
use embassy_rp::pac;
use embassy_rp::peripherals::CORE1;
use gleaner_shared::mlp::{Helper, Partner};
use static_cell::ConstStaticCell;

use crate::board::memory::PAINT;
use crate::model::{HIDDEN, OUTPUTS, Work};
use crate::platform::StackUse;

/// Stack size: twice what training needs, plus a guard of 32 bytes at the lower end.
const STACK_WORDS: usize = 256;
const GUARD_BYTES: u32 = 32;
/// Number of times core 1 is polled for its answer, about ten milliseconds in all.
const PATIENCE: u32 = 100_000;

/// A stack aligned to the size of its guard.
#[repr(C, align(32))]
struct Stack([u32; STACK_WORDS]);

static mut STACK: Stack = Stack([PAINT; STACK_WORDS]);
static JOB: Job = Job {
    run: AtomicPtr::new(ptr::null_mut()),
    context: AtomicPtr::new(ptr::null_mut()),
};

/// A job for the core; the loop in assembly relies on this layout.
#[repr(C)]
struct Job {
    /// The function to call, or null when there is no job.
    run: AtomicPtr<()>,
    /// The argument of the function.
    context: AtomicPtr<()>,
}

/// The second core, running and waiting for jobs.
pub struct Core1(());

/// Starts the core; `None` if it does not answer, as in an emulator with one core.
pub fn start(_core: Peri<'static, CORE1>) -> Option<Helper<'static, Core1, HIDDEN, OUTPUTS>> {
    static WORK: ConstStaticCell<Work> = ConstStaticCell::new(Work::new());
    static CORE: ConstStaticCell<Core1> = ConstStaticCell::new(Core1(()));
    hold();
    JOB.run.store(ptr::null_mut(), Ordering::Relaxed);
    // Only the address is taken; the core alone uses its stack.
    let top = (&raw const STACK).addr() + size_of::<Stack>();
    pac::PSM.frce_off().modify(|w| w.set_proc1(false));
    // SAFETY: read-only; core 1 takes its exceptions from the table of core 0.
    let vectors = unsafe { (*cortex_m::peripheral::SCB::PTR).vtor.read() };
    launch([0, 0, 1, vectors, top as u32, enter as *const () as u32]).then(|| Helper {
        partner: CORE.take(),
        work: WORK.take(),
    })
}

/// Holds the core in reset.
pub fn hold() {
    pac::PSM.frce_off().modify(|w| w.set_proc1(true));
    while !pac::PSM.frce_off().read().proc1() {}
}

/// Sends the words that the boot ROM of core 1 expects and must echo (datasheet, 2.8.2).
fn launch(words: [u32; 6]) -> bool {
    let fifo = pac::SIO.fifo();
    let mut tries = 0..16;
    let mut said = 0;
    while let Some(&word) = words.get(said) {
        if word == 0 {
            while fifo.st().read().vld() {
                fifo.rd().read();
            }
            asm::sev();
        }
        fifo.wr().write_value(word);
        asm::sev();
        let mut asked = 0..PATIENCE;
        while !fifo.st().read().vld() {
            if asked.next().is_none() {
                return false;
            }
        }
        if fifo.rd().read() == word {
            said += 1;
        } else if tries.next().is_some() {
            said = 0;
        } else {
            return false;
        }
    }
    true
}

/// The entry point of core 1.
extern "C" fn enter() -> ! {
    cortex_m::interrupt::disable();
    guard();
    // SAFETY: the bit is this core's own; clocks stop only while both cores wait and core 0 agrees.
    unsafe { cortex_m::Peripherals::steal() }
        .SCB
        .set_sleepdeep();
    // SAFETY: the job lives for ever, and what it refers to until it was done.
    unsafe { park(&JOB) }
}

/// Protects the lowest bytes of the stack: an overflow is a fault, and a fault resets the board. A
/// region has at least 256 bytes, of which eighths can be left out (ARMv6-M, B3.5).
fn guard() {
    const REGION_BYTES: u32 = 256;
    const VALID: u32 = 1 << 4;
    const NEVER_EXECUTE: u32 = 1 << 28;
    const SIZE: u32 = (REGION_BYTES.ilog2() - 1) << 1;
    const ENABLE: u32 = 1;
    const OTHERS_AS_EVER: u32 = 1 << 2;
    let lowest = addr_of!(STACK) as u32;
    let eighth = lowest % REGION_BYTES / GUARD_BYTES;
    let left_out = !(1 << eighth) & 0xFF;
    // SAFETY: only this core's own protection is set up, once, before anything relies on it.
    unsafe {
        let mpu = &*cortex_m::peripheral::MPU::PTR;
        mpu.rbar.write(lowest & !(REGION_BYTES - 1) | VALID);
        mpu.rasr
            .write(NEVER_EXECUTE | left_out << 8 | SIZE | ENABLE);
        mpu.ctrl.write(OTHERS_AS_EVER | ENABLE);
    }
    asm::dsb();
    asm::isb();
}

/// Sleeps until there is a job, runs it and clears it. Placed in RAM, because flash may be written
/// while this core waits.
///
/// # Safety
/// What a job refers to must live until its `run` is null again.
#[unsafe(naked)]
#[unsafe(link_section = ".data.gleaner_core1")]
unsafe extern "C" fn park(job: &'static Job) -> ! {
    naked_asm!(
        "mov r4, r0",
        "2:",
        "ldr r1, [r4]",
        "cmp r1, #0",
        "bne 3f",
        "wfe",
        "b 2b",
        "3:",
        "dmb",
        "ldr r0, [r4, #4]",
        "blx r1",
        "dmb",
        "movs r1, #0",
        "str r1, [r4]",
        "dsb",
        "sev",
        "b 2b",
    )
}

impl Partner for Core1 {
    fn join(&mut self, here: impl FnOnce() + Send, there: impl FnOnce() + Send) {
        let mut there = Some(there);
        JOB.context
            .store((&raw mut there).cast(), Ordering::Relaxed);
        JOB.run.store(runner(&there).cast(), Ordering::Release);
        asm::dsb();
        asm::sev();
        here();
        while !JOB.run.load(Ordering::Acquire).is_null() {
            asm::wfe();
        }
        // The wait may have been ended by an event for the executor.
        asm::sev();
    }
}

/// Returns the function that takes the closure out of its place and calls it.
fn runner<F: FnOnce()>(_place: &Option<F>) -> *mut u8 {
    unsafe extern "C" fn run<F: FnOnce()>(place: *mut Option<F>) {
        // SAFETY: core 0 waits in `join`, where the place lives, and does not look at it.
        if let Some(work) = unsafe { (*place).take() } {
            work();
        }
    }
    run::<F> as *mut u8
}

/// Measures the core's stack by its paint, which the guard leaves readable to core 0.
pub fn stack_use() -> StackUse {
    let bytes = (STACK_WORDS * size_of::<u32>()) as u32;
    let untouched = (0..STACK_WORDS).take_while(|&word| {
        // SAFETY: within the stack; volatile reads cannot race with anything that matters, since
        // only untouched paint is looked for.
        unsafe { (&raw const STACK.0).cast::<u32>().add(word).read_volatile() == PAINT }
    });
    let free = (untouched.count() * size_of::<u32>()) as u32;
    StackUse {
        available_bytes: bytes - GUARD_BYTES,
        used_bytes: bytes - free.max(GUARD_BYTES),
    }
}
