//! The code `q4`: codes from -7 to 7, two a byte, with a scale for every stretch of a row.
//!
//! Layout, layer by layer: the layer's scale S, a little-endian `u32` in the layer's units; then, for
//! every stretch of at most 64 numbers of a row, its scale b in a byte and the codes, the first in the
//! lower half of a byte; the upper half of an odd stretch's last byte is zero and not read. A difference is
//! code * b * S, an integer; rounded at random, codes are right on average to 1/512 of a step. A
//! stretch without a change has b = 0 and draws nothing; any other draws a word for four numbers, a
//! byte each, the lowest for the first. For 784-50-10 that is 20,732 bytes.

use super::super::clip::Clip;
use super::CodeError;
use super::change::{
    Change, DIFFERENCE_MAX, LayerSize, Layers, MOST_LAYERS, STRETCH, Shortened, largest_of,
};
use crate::rng::Rng;

/// The largest magnitude of a code.
const LIMIT: i32 = 7;
/// The largest layer scale: codes and stretch scales cover every difference with it.
const SCALE_MAX: u32 = (DIFFERENCE_MAX as u32).div_ceil(LIMIT as u32 * u8::MAX as u32);
/// Differences up to here are divided in 32-bit arithmetic.
const SMALL: u32 = (1 << 15) - 1;

/// Returns the bytes of a stretch of so many numbers.
const fn stretch_bytes(count: usize) -> usize {
    1 + count.div_ceil(2)
}

/// Returns the bytes of a row.
const fn row_bytes(columns: usize) -> usize {
    // Whole stretches have an even number of columns.
    columns.div_ceil(STRETCH) + columns.div_ceil(2)
}

const fn bytes_of(size: LayerSize) -> usize {
    4 + size.rows * row_bytes(size.columns)
}

/// Returns the bytes of a coded model of these layers.
pub(super) fn coded_bytes(layers: &impl Layers) -> usize {
    let of_layer = |layer| bytes_of(layers.size(layer));
    (0..layers.count()).map(of_layer).sum()
}

/// Writes a change into `out`, which has the right length.
pub(super) fn encode(change: &impl Change, clip: Clip, rng: &mut Rng, out: &mut [u8]) -> usize {
    let (bytes, change) = (out.len(), Shortened::to(change, clip));
    let mut rest = out;
    for layer in 0..change.count() {
        let largest = change.largest(layer);
        let scale = largest.div_ceil(LIMIT as u32 * u32::from(u8::MAX)).max(1);
        rest = write(rest, &scale.to_le_bytes());
        let mut numbers = [0; STRETCH];
        change.size(layer).each_stretch(|row, first, count| {
            let numbers = &mut numbers[..count];
            change.read(layer, row, first, numbers, |number| number);
            let (of_stretch, others) =
                core::mem::take(&mut rest).split_at_mut(stretch_bytes(count));
            rest = others;
            write_stretch(numbers, scale, rng, of_stretch);
        });
    }
    bytes
}

/// Copies bytes to the front of `out` and returns what follows.
pub(super) fn write<'a>(out: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let (front, rest) = out.split_at_mut(bytes.len());
    front.copy_from_slice(bytes);
    rest
}

/// Writes the scale and the codes of a stretch.
fn write_stretch(numbers: &[i32], scale: u32, rng: &mut Rng, out: &mut [u8]) {
    let Some((of_stretch, codes)) = out.split_first_mut() else {
        return;
    };
    let largest = largest_of(numbers, 0);
    let by = largest.div_ceil(LIMIT as u32 * scale);
    *of_stretch = by as u8;
    if by == 0 {
        codes.fill(0);
        return;
    }
    let step = by * scale;
    let mut bits = rng.clone();
    if largest <= SMALL {
        // At most 7 steps times 2^28.
        let inverse = ((1 << 28) / step) as i32;
        write_codes(numbers, codes, &mut bits, |number| (number * inverse) >> 12);
    } else {
        let inverse = (1i64 << 40) / i64::from(step);
        write_codes(numbers, codes, &mut bits, |number| {
            ((i64::from(number) * inverse) >> 24) as i32
        });
    }
    *rng = bits;
}

/// Writes codes of numbers that `scaled` puts in units of 2^-16, rounded at random. The factor is never too
/// large, so that no code exceeds the limit.
#[inline(always)]
fn write_codes(numbers: &[i32], codes: &mut [u8], rng: &mut Rng, scaled: impl Fn(i32) -> i32) {
    let code = |number: i32, random: u32| {
        let random = (random & 0xFF) << 8 | 0x80;
        (scaled(number) + random as i32) >> 16
    };
    let (fours, rest) = numbers.as_chunks::<4>();
    let (pairs, last) = codes.split_at_mut(2 * fours.len());
    for (&[a, b, c, d], out) in fours.iter().zip(pairs.as_chunks_mut::<2>().0) {
        let random = rng.next_u32();
        let (a, b) = (code(a, random), code(b, random >> 8));
        let (c, d) = (code(c, random >> 16), code(d, random >> 24));
        *out = [(a & 0xF | b << 4) as u8, (c & 0xF | d << 4) as u8];
    }
    if !rest.is_empty() {
        let mut random = rng.next_u32();
        for (pair, out) in rest.chunks(2).zip(last) {
            let low = code(pair[0], random);
            let high = pair.get(1).map_or(0, |&number| code(number, random >> 8));
            *out = (low & 0xF | high << 4) as u8;
            random >>= 16;
        }
    }
}

/// Coded layers whose form was checked.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a, L> {
    sizes: L,
    scales: [u32; MOST_LAYERS],
    /// Place of each layer's first stretch.
    starts: [usize; MOST_LAYERS],
    bytes: &'a [u8],
}

impl<'a, L: Layers> Blocks<'a, L> {
    /// Checks the scales of a coded model, whose length is right.
    pub(super) fn parse(sizes: L, bytes: &'a [u8]) -> Result<Self, CodeError> {
        let (mut scales, mut starts) = ([0; MOST_LAYERS], [0; MOST_LAYERS]);
        let mut start = 0;
        for layer in 0..sizes.count() {
            let scale = bytes[start..].first_chunk().copied().unwrap_or_default();
            let scale = u32::from_le_bytes(scale);
            if !(1..=SCALE_MAX).contains(&scale) {
                return Err(CodeError::Scale { layer, scale });
            }
            (scales[layer], starts[layer]) = (scale, start + 4);
            start += bytes_of(sizes.size(layer));
        }
        Ok(Self {
            sizes,
            scales,
            starts,
            bytes,
        })
    }
}

impl<L: Layers> Layers for Blocks<'_, L> {
    #[inline]
    fn count(&self) -> usize {
        self.sizes.count()
    }

    #[inline]
    fn size(&self, layer: usize) -> LayerSize {
        self.sizes.size(layer)
    }
}

impl<L: Layers> Change for Blocks<'_, L> {
    super::decoded!();

    fn read(
        &self,
        layer: usize,
        row: usize,
        first: usize,
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        let start = self.starts[layer] + row * row_bytes(self.size(layer).columns);
        // Whole stretches before this one.
        let start = start + first / STRETCH * stretch_bytes(STRETCH);
        let Some((&by, codes)) = self.bytes[start..].split_first() else {
            return;
        };
        // At most 8 * 255 * 601,557, below 2^31.
        let step = (u32::from(by) * self.scales[layer]) as i32;
        for (pair, &codes) in out.chunks_mut(2).zip(codes) {
            pair[0] = convert((i32::from(codes) << 28 >> 28) * step);
            if let Some(second) = pair.get_mut(1) {
                *second = convert(i32::from(codes as i8 >> 4) * step);
            }
        }
    }
}
