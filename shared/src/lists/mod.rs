//! Lists of the non-zero pixels, stored after the samples in flash, so that training need not
//! search the samples.
//!
//! All numbers are little endian, and the lists begin at a word:
//!
//! | bytes | what |
//! |---|---|
//! | 4 (samples + 1) | the first word of every sample's list, and where the last one ends |
//! | 4 a word | lists of samples |
//! | 4 (inputs x segments + 1) | the first entry of every column, and where the last one ends |
//! | 2 an entry, rounded up to words | columns |
//! | 4 | CRC-32 of all that |
//!
//! A word of a sample's list is a pair of neighbouring pixels, at least one of them non-zero: its
//! distance in pairs to the previous listed one (to the first pair of the sample, for the first),
//! the first pixel, zero, the second pixel. Both may be zero to step over more than 255 pairs. A
//! sample with more than [`MOST_LISTED`] non-zero pixels has an empty list and is read itself.
//!
//! A column lists, for one pixel and a segment of [`SEGMENT`] samples, the samples in which the
//! pixel is non-zero: the sample's place in the segment, and the pixel. The columns of a pixel are
//! consecutive.

use crc::{CRC_32_ISO_HDLC, Crc};

mod check;
mod write;

pub use self::write::write;

/// The most pixels of a sample that are listed: with more a sum may have to be split.
pub const MOST_LISTED: usize = 252;
/// The most words of a sample's list.
pub const MOST_WORDS: usize = 256;
/// Number of samples per column.
pub const SEGMENT: usize = 256;

const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// The lists of some samples, checked to stay within them.
#[derive(Clone, Copy, Debug)]
pub struct Lists<'a> {
    samples: usize,
    inputs: usize,
    row_starts: &'a [[u8; 4]],
    rows: &'a [[u8; 4]],
    column_starts: &'a [[u8; 4]],
    columns: &'a [[u8; 2]],
    padding: &'a [[u8; 2]],
}

impl<'a> Lists<'a> {
    /// Opens and checks the lists of `samples` samples of `inputs` bytes, as written by
    /// [`write()`].
    #[must_use]
    pub fn open(bytes: &'a [u8], samples: usize, inputs: usize) -> Option<Self> {
        let (bytes, checksum) = bytes.split_last_chunk::<4>()?;
        let lists = Self::divide(bytes, samples, inputs)?;
        lists
            .are_sound(u32::from_le_bytes(*checksum))
            .then_some(lists)
    }

    /// Divides the bytes into the parts of the format.
    fn divide(bytes: &'a [u8], samples: usize, inputs: usize) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<4>() else {
            return None;
        };
        let (row_starts, words) = words.split_at_checked(samples.checked_add(1)?)?;
        let (rows, words) = words.split_at_checked(last(row_starts))?;
        let starts = inputs.checked_mul(samples.div_ceil(SEGMENT))? + 1;
        let (column_starts, words) = words.split_at_checked(starts)?;
        let (columns, []) = words.as_flattened().as_chunks::<2>() else {
            return None;
        };
        let (columns, padding) = columns.split_at_checked(last(column_starts))?;
        let begin = number(row_starts.first()?) == 0 && number(column_starts.first()?) == 0;
        (begin && padding.len() < 2).then_some(Self {
            samples,
            inputs,
            row_starts,
            rows,
            column_starts,
            columns,
            padding,
        })
    }

    /// Returns whether these are lists of `samples` samples of `inputs` bytes.
    pub const fn fit(&self, samples: usize, inputs: usize) -> bool {
        self.samples == samples && self.inputs == inputs
    }

    /// Returns the list of a sample, at most [`MOST_WORDS`]; empty if the sample is not listed.
    pub(crate) fn row(&self, sample: usize) -> &'a [[u8; 4]] {
        &self.rows[start(self.row_starts, sample)..start(self.row_starts, sample + 1)]
    }

    /// Returns the columns of a pixel, one for each segment.
    pub(crate) fn columns(&self, pixel: usize) -> impl Iterator<Item = &'a [[u8; 2]]> {
        let (segments, columns) = (self.segments(), self.columns);
        let starts = &self.column_starts[pixel * segments..][..=segments];
        (starts.iter().zip(&starts[1..])).map(move |(from, to)| &columns[number(from)..number(to)])
    }

    /// Returns the number of samples in which a pixel is non-zero.
    pub(crate) fn count(&self, pixel: usize) -> usize {
        let segments = self.segments();
        start(self.column_starts, (pixel + 1) * segments)
            - start(self.column_starts, pixel * segments)
    }

    const fn segments(&self) -> usize {
        self.samples.div_ceil(SEGMENT)
    }
}

fn number(bytes: &[u8; 4]) -> usize {
    u32::from_le_bytes(*bytes) as usize
}

fn start(starts: &[[u8; 4]], index: usize) -> usize {
    number(&starts[index])
}

/// Returns the end of the last list.
fn last(starts: &[[u8; 4]]) -> usize {
    starts.last().map_or(0, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mlp::selftest::images;

    fn lists_of(pixels: &[u8], inputs: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(pixels, inputs, |part| bytes.extend_from_slice(part));
        bytes
    }

    #[test]
    fn non_zero_pixels_are_listed_by_sample_and_by_pixel() {
        let pixels = [[0, 7, 0, 0, 9], [0, 0, 0, 0, 0], [1, 2, 0, 0, 0]];
        let bytes = lists_of(pixels.as_flattened(), 5);
        let lists = Lists::open(&bytes, 3, 5).unwrap();
        assert_eq!(lists.row(0), [[0, 0, 0, 7], [2, 9, 0, 0]]);
        assert_eq!(lists.row(1), [[0; 4]; 0]);
        assert_eq!(lists.row(2), [[0, 1, 0, 2]]);
        let column = |pixel| lists.columns(pixel).collect::<Vec<_>>();
        assert_eq!(column(0), [&[[2, 1]][..]]);
        assert_eq!(column(1), [&[[0, 7], [2, 2]][..]]);
        assert_eq!(column(2), [&[[0; 2]; 0][..]]);
        assert_eq!((lists.count(1), lists.count(4)), (2, 1));
        assert!(lists.fit(3, 5) && !lists.fit(3, 4) && !lists.fit(2, 5));
    }

    #[test]
    fn long_gaps_are_stepped_over_and_segments_are_separate() {
        let mut pixels = vec![[0; 1300]; 300];
        pixels[0][1299] = 5;
        pixels[256][0] = 3;
        let bytes = lists_of(pixels.as_flattened(), 1300);
        let lists = Lists::open(&bytes, 300, 1300).unwrap();
        assert_eq!(
            lists.row(0),
            [[255, 0, 0, 0], [255, 0, 0, 0], [139, 0, 0, 5]]
        );
        let columns: Vec<_> = lists.columns(0).collect();
        assert_eq!(columns, [&[[0; 2]; 0][..], &[[0, 3]][..]]);
    }

    #[test]
    fn a_sample_with_too_many_pixels_has_no_list() {
        let mut pixels = [[0; 300]; 2];
        pixels[0][..MOST_LISTED].fill(1);
        pixels[1][..=MOST_LISTED].fill(1);
        let bytes = lists_of(pixels.as_flattened(), 300);
        let lists = Lists::open(&bytes, 2, 300).unwrap();
        assert_eq!(lists.row(0).len(), MOST_LISTED / 2);
        assert_eq!(lists.row(1), [[0; 4]; 0]);
        assert_eq!(lists.count(MOST_LISTED), 1);
    }

    #[test]
    fn any_flipped_bit_or_cut_is_found() {
        let mut pixels = images::<21, 5>(3);
        pixels[4] = [0; 21];
        let bytes = lists_of(pixels.as_flattened(), 21);
        assert!(Lists::open(&bytes, 5, 21).is_some());
        for bit in 0..8 * bytes.len() {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(Lists::open(&wrong, 5, 21).is_none(), "bit {bit}");
        }
        for end in 0..bytes.len() {
            assert!(Lists::open(&bytes[..end], 5, 21).is_none(), "cut at {end}");
        }
        for (samples, inputs) in [(4, 21), (6, 21), (5, 20), (5, 0), (usize::MAX, 21), (0, 0)] {
            assert!(Lists::open(&bytes, samples, inputs).is_none());
        }
    }

    /// A checksum detects accidents, not forged lists.
    #[test]
    fn lists_that_reach_beyond_the_samples_are_refused_whatever_their_checksum() {
        let open = |rows: &[u32], words: &[[u8; 4]], starts: &[u32], entries: &[[u8; 2]]| {
            let numbers = |it: &[u32]| it.iter().flat_map(|it| it.to_le_bytes()).collect();
            let parts: [Vec<u8>; 4] = [
                numbers(rows),
                words.as_flattened().to_vec(),
                numbers(starts),
                entries.as_flattened().to_vec(),
            ];
            let mut bytes = parts.concat();
            bytes.extend(CRC32.checksum(&bytes).to_le_bytes());
            // Two samples of three pixels.
            Lists::open(&bytes, 2, 3).is_some()
        };
        let words = [[0, 1, 0, 2], [1, 3, 0, 0]];
        let entries = [[0, 1], [1, 9]];
        assert!(open(&[0, 2, 2], &words, &[0, 2, 2, 2], &entries));
        // A pixel after the last, in the pair and by its distance.
        assert!(!open(
            &[0, 2, 2],
            &[[0, 1, 0, 2], [1, 3, 0, 1]],
            &[0, 2, 2, 2],
            &entries
        ));
        assert!(!open(
            &[0, 2, 2],
            &[[0, 1, 0, 2], [2, 3, 0, 0]],
            &[0, 2, 2, 2],
            &entries
        ));
        // A sample after the last, a repeated one, and a wrong order.
        for entries in [[[0, 1], [2, 9]], [[1, 1], [1, 9]], [[1, 1], [0, 9]]] {
            assert!(!open(&[0, 2, 2], &words, &[0, 2, 2, 2], &entries));
        }
        // Starts that descend, exceed the end, or leave something out.
        for starts in [
            [0, 3, 2, 2],
            [0, 9, 9, 2],
            [1, 2, 2, 2],
            [0, 2, u32::MAX, 2],
        ] {
            assert!(!open(&[0, 2, 2], &words, &starts, &entries), "{starts:?}");
        }
        for rows in [[0, 3, 2], [1, 2, 2], [0, u32::MAX, 2]] {
            assert!(!open(&rows, &words, &[0, 2, 2, 2], &entries), "{rows:?}");
        }
    }

    #[test]
    fn longer_lists_than_a_sum_takes_are_refused() {
        let open = |row: &[[u8; 4]]| {
            let starts = [0, row.len() as u32].map(u32::to_le_bytes);
            let mut bytes = [starts.as_flattened(), row.as_flattened(), &[0; 4 * 601]].concat();
            bytes.extend(CRC32.checksum(&bytes).to_le_bytes());
            Lists::open(&bytes, 1, 600).is_some()
        };
        assert!(open(&[[1, 1, 0, 1]; MOST_LISTED / 2]));
        assert!(!open(&[[1, 1, 0, 1]; MOST_LISTED / 2 + 1]));
        assert!(open(&[[0, 0, 0, 0]; MOST_WORDS]));
        assert!(!open(&[[0, 0, 0, 0]; MOST_WORDS + 1]));
    }

    #[test]
    fn no_samples_have_lists_without_entries() {
        assert!(Lists::open(&lists_of(&[], 4), 0, 4).is_some());
        assert!(Lists::open(&[], 0, 0).is_none());
    }
}
