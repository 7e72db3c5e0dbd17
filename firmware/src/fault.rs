//! Ways to die, for the images of the self-test alone: no image that takes part in learning can be
//! told to.

use core::fmt::Write as _;
use core::hint::black_box;

use gleaner_shared::wire::message::Crash;
use heapless::String;

use crate::report::Report;

/// Dies as a byte on the link says; other bytes are noise.
pub fn inject(byte: u8) {
    match byte {
        b'p' => panic!("on purpose"),
        b'o' => drop(black_box(deeper(0))),
        #[cfg(feature = "_device")]
        b'f' => cortex_m::asm::udf(),
        // Asleep, which costs an emulator nothing.
        #[cfg(feature = "_device")]
        b'w' => loop {
            cortex_m::asm::wfi();
        },
        _ => {}
    }
}

/// Outgrows any stack.
fn deeper(depth: u32) -> u32 {
    let frame = black_box([depth; 64]);
    if black_box(depth) == u32::MAX {
        return 0;
    }
    deeper(depth.wrapping_add(1)).wrapping_add(black_box(frame)[0])
}

/// Says how the board died: words, its starts, and where it faulted.
pub fn say(crash: &Crash, report: &mut Report) {
    let mut words = String::<192>::new();
    let Crash { place, message, .. } = crash;
    // The longest place and message have room.
    let _ = write!(words, "died {} at {place}: {message}", crash.cause);
    report.say(&words, crash.boots as usize, crash.pc.into());
}
