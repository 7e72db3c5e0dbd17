//! Where the samples of a training run come from.

use crate::lists::Lists;

/// Labelled images, one byte a pixel, wherever they lie: flash, an array, a file in memory.
/// Two cores may read them at once.
pub trait Samples<const IN: usize>: Sync {
    /// Returns how many samples there are.
    fn len(&self) -> usize;

    /// Returns the pixels of sample `index`, which is below [`Samples::len`].
    fn pixels(&self, index: usize) -> &[u8; IN];

    /// Returns the class of sample `index`, which is below [`Samples::len`].
    fn label(&self, index: usize) -> u8;

    /// Returns the pixels of all samples if they lie one after another in memory, which lets a
    /// kernel walk them.
    fn block(&self) -> Option<&[[u8; IN]]> {
        None
    }

    /// Returns the lists of all samples if they came with them, which spares a kernel the search.
    fn lists(&self) -> Option<Lists<'_>> {
        None
    }

    /// Says whether there is nothing to train on.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns the lists of samples if there are such and they can be theirs.
pub(super) fn lists_of<const IN: usize>(samples: &impl Samples<IN>) -> Option<Lists<'_>> {
    samples.lists().filter(|it| it.fit(samples.len(), IN))
}

/// Images and labels in two slices of the same length.
#[derive(Clone, Copy, Debug)]
pub struct Slices<'a, const IN: usize> {
    /// One array of pixels a sample.
    pub pixels: &'a [[u8; IN]],
    /// One class a sample.
    pub labels: &'a [u8],
}

impl<const IN: usize> Samples<IN> for Slices<'_, IN> {
    fn len(&self) -> usize {
        self.pixels.len().min(self.labels.len())
    }

    fn pixels(&self, index: usize) -> &[u8; IN] {
        &self.pixels[index]
    }

    fn label(&self, index: usize) -> u8 {
        self.labels[index]
    }

    fn block(&self) -> Option<&[[u8; IN]]> {
        Some(&self.pixels[..self.len()])
    }
}
