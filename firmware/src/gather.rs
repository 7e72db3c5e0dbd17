//! The samples of a board: its shard, and a ring of samples it gathered itself.

use core::ops::Range;

use gleaner_shared::lists::Lists;
use gleaner_shared::mlp::Samples;

use crate::data::LocalData;
use crate::model::{INPUTS, MAX_SAMPLES, OUTPUTS};

/// Samples by number; the number of a deleted sample is not reused before the next start.
pub trait SampleSource<const N: usize = INPUTS>: Sync {
    /// Returns the range of sample numbers, some of which may be missing.
    fn numbers(&self) -> Range<u32>;

    /// Returns the pixels of a sample, if it exists.
    fn pixels(&self, number: u32) -> Option<&[u8; N]>;

    /// Returns the label of a sample, if it exists and has one.
    fn label(&self, number: u32) -> Option<u8>;
}

/// Storage for the samples that an application gathers.
pub trait Gathered<const N: usize = INPUTS> {
    /// Returns the gathered samples.
    fn samples(&self) -> &dyn SampleSource<N>;

    /// Adds a sample, replacing the oldest, and returns its number; a label that is no class is
    /// dropped.
    fn gather(&mut self, pixels: &[u8; N], label: Option<u8>) -> u32;

    /// Sets a label; returns false if the sample does not exist or `label` is no class.
    fn set_label(&mut self, number: u32, label: u8) -> bool;
}

impl SampleSource for LocalData<'_> {
    fn numbers(&self) -> Range<u32> {
        0..self.len() as u32
    }

    fn pixels(&self, number: u32) -> Option<&[u8; INPUTS]> {
        (self.numbers().contains(&number)).then(|| Samples::pixels(self, number as usize))
    }

    fn label(&self, number: u32) -> Option<u8> {
        (self.numbers().contains(&number)).then(|| Samples::label(self, number as usize))
    }
}

/// The last `K` gathered samples of `N` bytes in RAM, three bytes of bookkeeping each.
#[derive(Debug)]
pub struct Ring<const K: usize, const N: usize = INPUTS> {
    pixels: [[u8; N]; K],
    labels: [Option<u8>; K],
    /// Whether each place holds a sample.
    there: [bool; K],
    /// Number of samples ever gathered.
    gathered: u32,
}

impl<const K: usize, const N: usize> Ring<K, N> {
    /// Returns an empty ring, ready for a static.
    pub const fn new() -> Self {
        const { assert!(K > 0, "a ring holds something") };
        Self {
            pixels: [[0; N]; K],
            labels: [None; K],
            there: [false; K],
            gathered: 0,
        }
    }

    /// Adds a sample, replacing the oldest, and returns its number; a label that is no class is
    /// dropped.
    pub fn push(&mut self, pixels: &[u8; N], label: Option<u8>) -> u32 {
        let number = self.gathered;
        *self.pixels_of(number) = *pixels;
        self.take_in(number, label);
        // After four billion samples the last number is reused.
        self.gathered = number.saturating_add(1);
        number
    }

    /// Returns the memory for the pixels of a sample of this number, in the place of the oldest.
    pub(crate) const fn pixels_of(&mut self, number: u32) -> &mut [u8; N] {
        &mut self.pixels[number as usize % K]
    }

    /// Adds a sample whose [pixels](Self::pixels_of) were written.
    pub(crate) fn take_in(&mut self, number: u32, label: Option<u8>) {
        let place = number as usize % K;
        self.there[place] = true;
        self.labels[place] = label.filter(|&label| usize::from(label) < OUTPUTS);
    }

    /// Continues numbering after samples that were [added](Self::take_in), `newest` being the last.
    pub(crate) const fn go_on_behind(&mut self, newest: u32) {
        self.gathered = newest.saturating_add(1);
    }

    /// Sets a label; returns false if the sample does not exist or `label` is no class.
    pub fn set_label(&mut self, number: u32, label: u8) -> bool {
        match self.place(number) {
            Some(place) if usize::from(label) < OUTPUTS => {
                self.labels[place] = Some(label);
                true
            }
            _ => false,
        }
    }

    fn place(&self, number: u32) -> Option<usize> {
        let place = number as usize % K;
        (self.numbers().contains(&number) && self.there[place]).then_some(place)
    }
}

impl<const K: usize, const N: usize> SampleSource<N> for Ring<K, N> {
    fn numbers(&self) -> Range<u32> {
        self.gathered.saturating_sub(K as u32)..self.gathered
    }

    fn pixels(&self, number: u32) -> Option<&[u8; N]> {
        self.place(number).map(|place| &self.pixels[place])
    }

    fn label(&self, number: u32) -> Option<u8> {
        self.labels[self.place(number)?]
    }
}

impl<const K: usize, const N: usize> Gathered<N> for &mut Ring<K, N> {
    fn samples(&self) -> &dyn SampleSource<N> {
        &**self
    }

    fn gather(&mut self, pixels: &[u8; N], label: Option<u8>) -> u32 {
        self.push(pixels, label)
    }

    fn set_label(&mut self, number: u32, label: u8) -> bool {
        Ring::set_label(self, number, label)
    }
}

/// A shard and the labelled gathered samples after it, as a trainer reads them: at most as many as
/// there are error rows.
#[derive(Clone, Copy)]
pub(crate) struct Joined<'a> {
    shard: LocalData<'a>,
    gathered: &'a dyn SampleSource,
    labelled: usize,
}

impl<'a> Joined<'a> {
    pub(crate) fn new(shard: LocalData<'a>, gathered: &'a dyn SampleSource) -> Self {
        let labelled = labelled(gathered).count();
        Self {
            shard,
            gathered,
            labelled: labelled.min(MAX_SAMPLES.saturating_sub(shard.len())),
        }
    }

    /// Returns the number of a gathered sample by its index after the shard's samples.
    fn number(&self, index: usize) -> u32 {
        let behind = index - self.shard.len();
        labelled(self.gathered).nth(behind).unwrap_or_default()
    }
}

fn labelled(source: &dyn SampleSource) -> impl Iterator<Item = u32> {
    source
        .numbers()
        .filter(|&number| source.label(number).is_some())
}

impl Samples<INPUTS> for Joined<'_> {
    fn len(&self) -> usize {
        self.shard.len() + self.labelled
    }

    fn pixels(&self, index: usize) -> &[u8; INPUTS] {
        if index < self.shard.len() {
            return Samples::pixels(&self.shard, index);
        }
        // An index below the length has a sample.
        const NOTHING: &[u8; INPUTS] = &[0; INPUTS];
        let number = self.number(index);
        self.gathered.pixels(number).unwrap_or(NOTHING)
    }

    fn label(&self, index: usize) -> u8 {
        if index < self.shard.len() {
            return Samples::label(&self.shard, index);
        }
        let number = self.number(index);
        self.gathered.label(number).unwrap_or_default()
    }

    /// Returns the lists of the shard, which a trainer uses if there are no other samples.
    fn lists(&self) -> Option<Lists<'_>> {
        self.shard.lists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(of: u8) -> [u8; INPUTS] {
        [of; INPUTS]
    }

    #[test]
    fn the_oldest_sample_is_replaced_and_numbers_are_not_reused() {
        let mut ring = Box::new(Ring::<3>::new());
        assert_eq!((ring.numbers(), ring.pixels(0)), (0..0, None));
        for of in 0..5 {
            assert_eq!(ring.push(&sample(of), None), u32::from(of));
        }
        assert_eq!(ring.numbers(), 2..5);
        for number in 2..5 {
            assert_eq!(ring.pixels(number), Some(&sample(number as u8)));
        }
        for gone in [0, 1, 5, u32::MAX] {
            assert_eq!(ring.pixels(gone), None);
            assert!(!ring.set_label(gone, 1), "{gone}");
        }
    }

    #[test]
    fn a_label_must_be_a_class_and_belongs_to_its_sample() {
        let mut ring = Box::new(Ring::<2>::new());
        ring.push(&sample(0), Some(OUTPUTS as u8));
        ring.push(&sample(1), Some(9));
        assert_eq!((ring.label(0), ring.label(1)), (None, Some(9)));
        assert!(ring.set_label(0, 9) && !ring.set_label(0, 10));
        assert_eq!(ring.label(0), Some(9));
        ring.push(&sample(2), None);
        assert_eq!((ring.label(0), ring.label(2)), (None, None));
    }

    #[test]
    fn a_trainer_reads_the_shard_and_then_labelled_samples() {
        let pixels = [sample(7), sample(8)];
        let shard = LocalData::new(&pixels, &[1, 2]);
        let mut ring = Box::new(Ring::<4>::new());
        for of in 0..6 {
            ring.push(&sample(of), (of % 2 == 1).then_some(of));
        }
        let joined = Joined::new(shard, &*ring);
        let seen: Vec<(u8, u8)> = (0..joined.len())
            .map(|at| (joined.pixels(at)[0], joined.label(at)))
            .collect();
        assert_eq!(seen, [(7, 1), (8, 2), (3, 3), (5, 5)]);
    }
}
