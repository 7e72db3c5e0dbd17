//! A client's inputs as two sets of lists of non-zero values: by sample and by pixel.
//!
//! Lists are cut so that the rows one of them names fit in the first-level cache together:
//! samples into blocks, and a sample's pixels into segments. An entry is a place within its
//! block or segment and a code, two bytes; a table gives the value of a code.

use crate::train::kernel::{Lists, word};

/// Samples in a block: their rows of 64 values take 25 KB.
pub(super) const BLOCK: usize = 100;
/// Pixels in a segment, of which seven make an MNIST image: their rows take 28 KB.
pub(super) const SEGMENT: usize = 112;

/// A block of consecutive samples.
#[derive(Debug)]
pub(super) struct Block {
    /// One list per segment and sample; entries name pixels of the segment.
    pub by_sample: Lists,
    /// One list per pixel; entries name samples of the block.
    pub by_pixel: Lists,
    pub labels: Vec<u8>,
}

/// All samples of a client.
#[derive(Debug)]
pub(super) struct Sparse {
    /// The samples, `BLOCK` at a time.
    pub blocks: Vec<Block>,
    /// The value of every code; code 0 is zero.
    pub table: [f32; 256],
    /// The number of samples of all blocks.
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
                    by_sample.push(&codes[first..last]);
                }
            }
            let by_pixel = by_pixel(&by_sample, samples.len(), inputs);
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

/// Lists the samples of each pixel, in order, from the pixels of each sample.
fn by_pixel(by_sample: &Lists, samples: usize, inputs: usize) -> Lists {
    let entries = || {
        let lists = 0..by_sample.starts.len() - 1;
        lists.flat_map(|list| {
            let (first, sample) = (list / samples * SEGMENT, list % samples);
            let pairs = by_sample.list(list);
            pairs.map(move |(pixel, code)| (first + pixel, sample, code))
        })
    };
    let mut starts = vec![0_u32; inputs + 1];
    entries().for_each(|(pixel, ..)| starts[pixel + 1] += 1);
    for pixel in 0..inputs {
        starts[pixel + 1] = starts[pixel] + starts[pixel + 1].next_multiple_of(2);
    }
    let mut next = starts.clone();
    let mut listed = vec![[0, 0]; starts[inputs] as usize];
    for (pixel, sample, code) in entries() {
        listed[next[pixel] as usize] = [sample as u8, code];
        next[pixel] += 1;
    }
    let mut words: Vec<u32> = listed.as_chunks::<2>().0.iter().map(word).collect();
    words.extend([0; 2]);
    starts.iter_mut().for_each(|start| *start /= 2);
    Lists { starts, words }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_shared::rng::{Purpose, Rng};

    #[test]
    fn both_ways_list_every_code_that_is_not_zero_in_order_and_in_pairs() {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
        for (count, inputs) in [(1, 1), (3, 784), (BLOCK + 7, 120), (2 * BLOCK, 113)] {
            let mut code = || match rng.below(3) {
                0 => rng.below(256) as u8,
                _ => 0,
            };
            let images: Vec<Vec<u8>> = (0..count)
                .map(|_| (0..inputs).map(|_| code()).collect())
                .collect();
            let table = std::array::from_fn(|code| code as f32);
            let sparse = Sparse::new(images.iter().map(|it| (&it[..], 0)), inputs, table);
            for (block, images) in sparse.blocks.iter().zip(images.chunks(BLOCK)) {
                let mut at = 0;
                for first in (0..inputs).step_by(SEGMENT) {
                    for image in images {
                        let last = (first + SEGMENT).min(inputs);
                        assert_list(&block.by_sample, at, image[first..last].iter().copied());
                        at += 1;
                    }
                }
                for pixel in 0..inputs {
                    let codes = images.iter().map(|image| image[pixel]);
                    assert_list(&block.by_pixel, pixel, codes);
                }
            }
        }
    }

    fn assert_list(lists: &Lists, at: usize, codes: impl Iterator<Item = u8>) {
        let codes = codes.enumerate().map(|(row, code)| [row as u8, code]);
        let mut expected: Vec<_> = codes.filter(|entry| entry[1] != 0).collect();
        expected.resize(expected.len().next_multiple_of(2), [0, 0]);
        let expected: Vec<u32> = expected.as_chunks().0.iter().map(word).collect();
        let bounds = lists.starts[at] as usize..lists.starts[at + 1] as usize;
        assert_eq!(lists.words[bounds], expected);
    }
}
