//! An executor that sleeps in `wfi`. QEMU does not stop at `wfe`, which embassy's executor uses,
//! and would occupy a whole core of the host.

use core::sync::atomic::{AtomicBool, Ordering};

use embassy_executor::{Spawner, raw};
use static_cell::StaticCell;

/// Set when a task was woken since the last poll.
static WOKEN: AtomicBool = AtomicBool::new(false);

#[unsafe(export_name = "__pender")]
fn wake(_executor: *mut ()) {
    WOKEN.store(true, Ordering::SeqCst);
}

/// Starts tasks with `spawn` and runs them forever.
pub fn run(spawn: impl FnOnce(Spawner)) -> ! {
    static EXECUTOR: StaticCell<raw::Executor> = StaticCell::new();
    let executor: &'static raw::Executor = EXECUTOR.init(raw::Executor::new(core::ptr::null_mut()));
    spawn(executor.spawner());
    loop {
        WOKEN.store(false, Ordering::SeqCst);
        // SAFETY: the executor is initialised above, and polled here alone, never from a task.
        unsafe { executor.poll() };
        // With interrupts masked, an interrupt between the check and the sleep still ends the
        // sleep; it is served once the mask is lifted.
        cortex_m::interrupt::free(|_| {
            if !WOKEN.load(Ordering::SeqCst) {
                cortex_m::asm::wfi();
            }
        });
    }
}
