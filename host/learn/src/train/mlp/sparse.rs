//! A client's inputs, kept twice as lists of non-zeros: by sample and by pixel.
//!
//! Lists are cut so that the rows one of them names fit in the first-level cache together:
//! samples into blocks, and a sample's pixels into segments. An entry is a place within its
//! block or segment and a code, two bytes; a table gives what a code stands for.

use crate::train::kernel::Lists;

/// Samples in a block: their rows of 64 values take 25 KB.
pub(super) const BLOCK: usize = 100;
/// Pixels in a segment, of which seven make an MNIST image: their rows take 28 KB.
pub(super) const SEGMENT: usize = 112;

/// Some consecutive samples.
#[derive(Debug)]
pub(super) struct Block {
    /// One list per segment and sample; entries name pixels of the segment.
    pub by_sample: Lists,
    /// One list per pixel; entries name samples of the block.
    pub by_pixel: Lists,
    /// The labels.
    pub labels: Vec<u8>,
}

/// All samples of a client.
#[derive(Debug)]
pub(super) struct Sparse {
    /// The samples, `BLOCK` at a time.
    pub blocks: Vec<Block>,
    /// What the codes stand for; code 0 is zero.
    pub table: [f32; 256],
    /// How many samples there are.
    pub samples: usize,
}

impl Sparse {
    /// Collects (codes, label) pairs of `inputs` codes each.
    pub(super) fn new<'a>(
        samples: impl Iterator<Item = (&'a [u8], u8)>,
        inputs: usize,
        table: [f32; 256],
    ) -> Self {
        assert_eq!(table[0], 0.0, "code 0 must stand for zero");
        let samples: Vec<(&[u8], u8)> = samples.collect();
        let block = |samples: &[(&[u8], u8)]| {
            let mut by_sample = Lists::new();
            for first in (0..inputs).step_by(SEGMENT) {
                let last = (first + SEGMENT).min(inputs);
                for (codes, _) in samples {
                    by_sample.push(codes[first..last].iter().copied());
                }
            }
            let mut by_pixel = Lists::new();
            for pixel in 0..inputs {
                by_pixel.push(samples.iter().map(|(codes, _)| codes[pixel]));
            }
            let labels = samples.iter().map(|&(_, label)| label).collect();
            Block {
                by_sample,
                by_pixel,
                labels,
            }
        };
        Self {
            blocks: samples.chunks(BLOCK).map(block).collect(),
            table,
            samples: samples.len(),
        }
    }
}
