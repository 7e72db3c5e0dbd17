//! Shards of MNIST for tests.

use gleaner_learn::data::embedded::mnist_subset;
use gleaner_learn::data::{DataError, Samples, load};
use gleaner_shared::mlp::sample::Slices;
use gleaner_station::device::shard::{ClientSamples, image};

/// Pixels of a sample.
pub const INPUTS: usize = 784;

/// Some samples of MNIST.
#[derive(Clone, Debug, Default)]
pub struct Digits {
    /// Pixels of each sample.
    pub pixels: Vec<[u8; INPUTS]>,
    /// Class of each sample.
    pub labels: Vec<u8>,
}

impl Digits {
    /// Returns `count` training samples from `first` on.
    ///
    /// # Panics
    /// When the subset carried by the crate has fewer.
    #[must_use]
    pub fn take(first: usize, count: usize) -> Self {
        let train = mnist_subset()
            .expect("the subset is part of the crate")
            .train;
        let (pixels, _) = train.images.as_chunks::<INPUTS>();
        Self {
            pixels: pixels[first..first + count].to_vec(),
            labels: train.labels[first..first + count].to_vec(),
        }
    }

    /// Returns the test samples of a set, as [`load`] names it.
    ///
    /// # Errors
    /// When the set is not there.
    pub fn test_set(name: &str) -> Result<Self, DataError> {
        Ok(Self::of(&load(name)?.test))
    }

    /// Copies all samples of one half of a data set.
    #[must_use]
    pub fn of(samples: &Samples) -> Self {
        Self {
            pixels: samples.images.as_chunks::<INPUTS>().0.to_vec(),
            labels: samples.labels.clone(),
        }
    }

    /// Returns them in pieces of at most `count`.
    pub fn pieces(&self, count: usize) -> impl Iterator<Item = Self> {
        let pixels = self.pixels.chunks(count);
        pixels.zip(self.labels.chunks(count)).map(|it| Self {
            pixels: it.0.to_vec(),
            labels: it.1.to_vec(),
        })
    }

    /// Returns them as a trainer takes them.
    #[must_use]
    pub fn samples(&self) -> Slices<'_, INPUTS> {
        Slices {
            pixels: &self.pixels,
            labels: &self.labels,
        }
    }

    /// Returns them as a board takes them.
    ///
    /// # Panics
    /// Never: pixels and labels belong together.
    #[must_use]
    pub fn shard(&self, client: u32, key: Option<[u8; 32]>) -> Vec<u8> {
        let samples = ClientSamples {
            client,
            inputs: INPUTS as u16,
            classes: 10,
            pixels: self.pixels.as_flattened(),
            labels: &self.labels,
            key,
        };
        image(&samples).expect("samples that belong together")
    }
}
