//! Who shares the work of an epoch: nobody, or another core.
//!
//! The first pass is divided by samples and the second by blocks of pixels. Either half reads
//! parameters, samples and error rows that nobody changes meanwhile and writes memory of its own;
//! what both found is added as integers, and one core alone takes the steps and draws the random
//! bits, in the order of pixels. So the outcome is that of one core, however the halves interleave:
//! the compiler checks the first, and integer sums do not depend on their order.

use super::work::Work;

/// Another core.
pub trait Partner {
    /// Does `here` on this core and `there` on the other; returns when both are done.
    fn join(&mut self, here: impl FnOnce() + Send, there: impl FnOnce() + Send);
}

/// The partner of a core that has none: it does both itself.
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
pub struct Helper<'a, P, const HID: usize, const OUT: usize> {
    /// Who helps.
    pub partner: &'a mut P,
    /// What it works in.
    pub work: &'a mut Work<HID, OUT>,
}

impl<P, const HID: usize, const OUT: usize> Helper<'_, P, HID, OUT> {
    /// Lends the helper for a shorter time.
    pub const fn reborrow(&mut self) -> Helper<'_, P, HID, OUT> {
        Helper {
            partner: self.partner,
            work: self.work,
        }
    }
}
