//! Gathered samples that survive a power cut: a ring in RAM, and a log of its labelled samples in
//! flash, from which the ring is filled at the next start. Unlabelled samples are not written.
//!
//! A sample counts when it is marked ([`slots`](super::slots) describes the format). A sample that
//! a power cut interrupted is invalidated by the next start, so that it cannot read as complete
//! later. A label that was not acknowledged yet may be there at one start and not at the next.

use embedded_storage::nor_flash::NorFlash;

use super::region::Region;
use super::slots::{Known, Layout, Slots};
use crate::gather::{Gathered, Ring, SampleSource};
use crate::model::INPUTS;

/// Returns the flash sectors for `samples` samples of the board's network.
#[must_use]
pub const fn sectors(samples: usize) -> usize {
    sectors_for(samples, INPUTS)
}

/// Returns the flash sectors for `samples` samples of `inputs` bytes. Samples are labelled in any
/// order, so twice as many may be written before the oldest is deleted; one sector is being erased,
/// and one replaces places damaged by power cuts.
#[must_use]
pub const fn sectors_for(samples: usize, inputs: usize) -> usize {
    (2 * samples).div_ceil(Layout::of(inputs).per_sector) + 2
}

/// The last `K` gathered samples of `N` bytes in RAM, and the labelled ones among them in flash,
/// too. If the flash cannot be written, they stay in RAM.
pub struct SavedRing<F, const K: usize, const N: usize = INPUTS> {
    flash: Option<Slots<F, N>>,
    ring: &'static mut Ring<K, N>,
    /// The flash place of each sample, by its place in the ring.
    slots: [Option<usize>; K],
    /// The next flash place and its turn.
    next: (usize, u32),
}

impl<F: NorFlash, const K: usize, const N: usize> SavedRing<F, K, N> {
    const PER_SECTOR: usize = Slots::<F, N>::LAYOUT.per_sector;
    const SLOTS: usize = sectors_for(K, N) * Self::PER_SECTOR;

    /// Fills an empty `ring` from a region of [`sectors_for`] `K` samples; without one the ring is
    /// in RAM alone.
    #[cold]
    #[inline(never)]
    pub fn open(region: Option<Region<F>>, ring: &'static mut Ring<K, N>) -> Self {
        let mut kept = Self {
            flash: None,
            ring,
            slots: [None; K],
            next: (0, 1),
        };
        if let Some(region) = region {
            let mut flash = Slots(region);
            if let Some((turn, slot, newest)) = Self::last(&mut flash) {
                flash.confirm(slot);
                kept.fill(&mut flash, newest);
                kept.next = (Self::after(&mut flash, slot), turn.saturating_add(1));
            }
            kept.flash = Some(flash);
        }
        kept
    }

    /// Finds the newest turn, its place and the newest sample's number; invalidates incomplete
    /// samples.
    fn last(flash: &mut Slots<F, N>) -> Option<(u32, usize, u32)> {
        let (mut last, mut newest) = (None, 0);
        for slot in 0..Self::SLOTS {
            match flash.read(slot) {
                Some(found) => {
                    last = last.max(Some((found.turn, slot)));
                    newest = newest.max(found.number);
                }
                None => flash.strike_out(slot),
            }
        }
        last.map(|(turn, slot)| (turn, slot, newest))
    }

    /// Fills the ring with the newest samples in flash.
    fn fill(&mut self, flash: &mut Slots<F, N>, newest: u32) {
        for slot in 0..Self::SLOTS {
            if let Some(Known { number, label, .. }) = flash.read(slot)
                && newest - number < K as u32
                && flash.pixels(slot, self.ring.pixels_of(number)).is_ok()
            {
                self.ring.take_in(number, Some(label));
                self.slots[number as usize % K] = Some(slot);
            }
        }
        self.ring.go_on_behind(newest);
    }

    /// Returns the next usable place, skipping one that a power cut damaged.
    fn after(flash: &mut Slots<F, N>, slot: usize) -> usize {
        let mut slot = slot + 1;
        while !slot.is_multiple_of(Self::PER_SECTOR) && !flash.is_blank(slot) {
            slot += 1;
        }
        slot % Self::SLOTS
    }

    /// Writes a sample into the next usable place and returns that place.
    fn write(&mut self, number: u32, label: u8) -> Option<usize> {
        let flash = self.flash.as_mut()?;
        let pixels = self.ring.pixels(number)?;
        for _ in 0..=Self::PER_SECTOR {
            let (slot, turn) = self.next;
            if slot.is_multiple_of(Self::PER_SECTOR) {
                // The sample that was there is lost if power cuts damaged more places than there
                // are spare.
                for it in &mut self.slots {
                    *it = it.filter(|it| it / Self::PER_SECTOR != slot / Self::PER_SECTOR);
                }
            }
            self.next = ((slot + 1) % Self::SLOTS, turn.saturating_add(1));
            let known = Known {
                number,
                turn,
                label,
            };
            if flash.write(slot, &known, pixels).is_ok() {
                return Some(slot);
            }
        }
        None
    }
}

impl<F: NorFlash, const K: usize, const N: usize> Gathered<N> for SavedRing<F, K, N> {
    fn samples(&self) -> &dyn SampleSource<N> {
        self.ring
    }

    fn gather(&mut self, pixels: &[u8; N], label: Option<u8>) -> u32 {
        let number = self.ring.push(pixels, None);
        self.slots[number as usize % K] = None;
        if let Some(label) = label {
            self.set_label(number, label);
        }
        number
    }

    fn set_label(&mut self, number: u32, label: u8) -> bool {
        if !self.ring.set_label(number, label) {
            return false;
        }
        let place = number as usize % K;
        match (self.slots[place], &mut self.flash) {
            (Some(slot), Some(flash)) => flash.relabel(slot, label),
            _ => self.slots[place] = self.write(number, label),
        }
        true
    }
}
