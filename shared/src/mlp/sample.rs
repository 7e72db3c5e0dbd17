//! Sources of training samples.

use crate::lists::Lists;

/// Labelled images of one byte per pixel, in flash or in RAM. Two cores may read them at once.
pub trait Samples<const IN: usize>: Sync {
    /// Returns the number of samples.
    fn len(&self) -> usize;

    /// Returns the pixels of sample `index`, which is below [`Samples::len`].
    fn pixels(&self, index: usize) -> &[u8; IN];

    /// Returns the class of sample `index`, which is below [`Samples::len`].
    fn label(&self, index: usize) -> u8;

    /// Returns the pixels of all samples if they are contiguous in memory, so that a kernel can
    /// walk over them.
    fn block(&self) -> Option<&[[u8; IN]]> {
        None
    }

    /// Returns the lists of all samples, if there are any, so that a kernel need not search.
    fn lists(&self) -> Option<Lists<'_>> {
        None
    }

    /// Returns whether there are no samples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns the lists of samples if there are any and their sizes fit.
pub(super) fn lists_of<const IN: usize>(samples: &impl Samples<IN>) -> Option<Lists<'_>> {
    samples.lists().filter(|it| it.fit(samples.len(), IN))
}

/// Images and labels in two slices of the same length.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Slices<'a, const IN: usize> {
    pub pixels: &'a [[u8; IN]],
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
