//! Division of an epoch between two cores.
//!
//! The first pass is divided by samples and the second by blocks of pixels. Each half reads
//! parameters, samples and error rows that nobody changes meanwhile and writes its own memory; the
//! results are added as integers, and one core alone takes the steps and draws the random bits, in
//! the order of pixels. So the outcome is that of one core: the compiler checks the first, and
//! integer sums do not depend on their order.

use super::work::Work;

/// Another core that can run a closure.
pub trait Partner {
    /// Runs `here` on this core and `there` on the other; returns when both are done.
    fn join(&mut self, here: impl FnOnce() + Send, there: impl FnOnce() + Send);
}

/// The partner of a single core: runs both closures itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Partner for Alone {
    fn join(&mut self, here: impl FnOnce() + Send, there: impl FnOnce() + Send) {
        here();
        there();
    }
}

/// A partner and the memory it works in.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Helper<'a, P, const HID: usize, const OUT: usize> {
    pub partner: &'a mut P,
    pub work: &'a mut Work<HID, OUT>,
}

impl<P, const HID: usize, const OUT: usize> Helper<'_, P, HID, OUT> {
    /// Returns the helper for a shorter time.
    pub const fn reborrow(&mut self) -> Helper<'_, P, HID, OUT> {
        Helper {
            partner: self.partner,
            work: self.work,
        }
    }
}
