//! Writes the lists of samples.

use super::{CRC32, MOST_LISTED, MOST_WORDS, SEGMENT};

/// Writes the lists of samples of `inputs` bytes, piece by piece.
pub fn write(pixels: &[u8], inputs: usize, mut put: impl FnMut(&[u8])) {
    let mut digest = CRC32.digest();
    write_parts(pixels, inputs, |part| {
        digest.update(part);
        put(part);
    });
    put(&digest.finalize().to_le_bytes());
}

fn write_parts(pixels: &[u8], inputs: usize, mut put: impl FnMut(&[u8])) {
    let samples = || pixels.chunks_exact(inputs.max(1));
    starts(samples().map(|sample| row(sample).count()), &mut put);
    for word in samples().flat_map(row) {
        put(&word);
    }
    starts(columns(pixels, inputs).map(Iterator::count), &mut put);
    let mut odd = false;
    for entry in columns(pixels, inputs).flatten() {
        put(&entry);
        odd = !odd;
    }
    if odd {
        put(&[0; 2]);
    }
}

/// Writes the start of each list of the given lengths, and the end of the last.
fn starts(lengths: impl Iterator<Item = usize>, put: &mut impl FnMut(&[u8])) {
    let mut start = 0u32;
    put(&start.to_le_bytes());
    for length in lengths {
        start += length as u32;
        put(&start.to_le_bytes());
    }
}

/// Returns the list of a sample.
fn row(sample: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    let lit = sample.iter().filter(|&&x| x != 0).count();
    let listed = lit <= MOST_LISTED && pairs(sample).count() <= MOST_WORDS;
    pairs(if listed { sample } else { &[] })
}

/// Returns the pairs of non-zero pixels, and steps over long gaps.
fn pairs(sample: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    let mut last = 0;
    let lit = sample.chunks(2).enumerate().filter_map(|(at, pair)| {
        let (first, second) = (pair[0], pair.get(1).copied().unwrap_or(0));
        (first != 0 || second != 0).then_some((at, first, second))
    });
    lit.flat_map(move |(at, first, second)| {
        let gap = at - last;
        last = at;
        let steps = gap.saturating_sub(1) / 255;
        let step = core::iter::repeat_n([255, 0, 0, 0], steps);
        step.chain([[(gap - 255 * steps) as u8, first, 0, second]])
    })
}

/// Returns the columns, by pixel and then by segment.
fn columns(pixels: &[u8], inputs: usize) -> impl Iterator<Item = impl Iterator<Item = [u8; 2]>> {
    let segments = pixels.chunks(inputs.max(1) * SEGMENT);
    (0..inputs).flat_map(move |pixel| {
        (segments.clone()).map(move |segment| column(segment, inputs, pixel))
    })
}

/// Returns the samples of a segment in which a pixel is non-zero.
fn column(segment: &[u8], inputs: usize, pixel: usize) -> impl Iterator<Item = [u8; 2]> {
    let samples = segment.chunks_exact(inputs).zip(0u8..=255);
    samples.filter_map(move |(sample, at)| match sample[pixel] {
        0 => None,
        x => Some([at, x]),
    })
}
