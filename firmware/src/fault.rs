//! Fault injection for the self-test images: no image that takes part in learning contains it.

use core::fmt::Write as _;
use core::hint::black_box;

use gleaner_shared::wire::message::Crash;
use heapless::String;

use crate::report::Report;

/// Causes the fault that a byte on the link names; other bytes are ignored.
pub fn inject(byte: u8) {
    match byte {
        b'p' => panic!("on purpose"),
        b'o' => drop(black_box(deeper(0))),
        #[cfg(feature = "_device")]
        b'f' => cortex_m::asm::udf(),
        // Sleeping costs an emulator nothing.
        #[cfg(feature = "_device")]
        b'w' => loop {
            cortex_m::asm::wfi();
        },
        _ => {}
    }
}

/// Recurses until the stack overflows.
fn deeper(depth: u32) -> u32 {
    let frame = black_box([depth; 64]);
    if black_box(depth) == u32::MAX {
        return 0;
    }
    deeper(depth.wrapping_add(1)).wrapping_add(black_box(frame)[0])
}

/// Reports the crash: cause, place, message, number of starts and faulting address.
pub fn describe(crash: &Crash, report: &mut Report) {
    let mut words = String::<192>::new();
    let Crash { place, message, .. } = crash;
    // The longest place and message fit.
    let _ = write!(words, "died {} at {place}: {message}", crash.cause);
    report.add(&words, crash.boots as usize, crash.pc.into());
}
