//! The code `q6`: codes from -31 to 31, four in three bytes, and a scale a layer.
//!
//! Layout: the scales as those of [`q8`](super::plain); then the codes of every layer, each layer
//! from a whole byte on. The code numbered `i` of a layer is in bits `6 i` to `6 i + 5` of its bytes, the
//! lowest bit of the first byte being bit 0; unused bits of a layer's last byte are zero and not read.
//! For 784-50-10 that is 16 + 29,821 bytes. A difference is rounded at random, as in `q8`.

use super::super::clip::Clip;
use super::super::kernel;
use super::CodeError;
use super::change::{Change, LayerSize, Layers, MOST_LAYERS, STRETCH};
use super::scale::{Scaling, checked, difference};
use crate::rng::Rng;

/// The largest magnitude of a code.
const LIMIT: i32 = 31;
/// Bits of a code.
const BITS: usize = 6;

const fn bytes_of(size: LayerSize) -> usize {
    (BITS * size.parameters()).div_ceil(8)
}

/// Returns the bytes of a coded model of these layers.
pub(super) fn coded_bytes(layers: &impl Layers) -> usize {
    let of_layer = |layer| 4 + bytes_of(layers.size(layer));
    (0..layers.count()).map(of_layer).sum()
}

/// Writes a change into `out`, which has the right length.
pub(super) fn encode(change: &impl Change, clip: Clip, rng: &mut Rng, out: &mut [u8]) -> usize {
    let (bytes, shortening) = (out.len(), change.exceeded(clip));
    let (header, mut codes) = out.split_at_mut(4 * change.count());
    for (layer, scale) in header.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let (of_layer, others) = codes.split_at_mut(bytes_of(change.size(layer)));
        codes = others;
        let scaling = Scaling::new(change.largest(layer), LIMIT as u32, shortening);
        *scale = scaling.scale.to_le_bytes();
        write_layer(change, layer, &scaling, rng, of_layer);
    }
    bytes
}

/// Writes the codes of a layer; a code that is its difference draws nothing.
fn write_layer(
    change: &impl Change,
    layer: usize,
    scaling: &Scaling,
    stream: &mut Rng,
    out: &mut [u8],
) {
    let (mut rng, mut numbers, mut codes) = (stream.clone(), [0; STRETCH], [0; STRETCH]);
    let (multiplier, shift) = scaling.factor.for_small();
    let mut packer = Packer::new(out);
    change.size(layer).each_stretch(|row, first, count| {
        let (numbers, codes) = (&mut numbers[..count], &mut codes[..count]);
        if scaling.is_small() {
            change.read(layer, row, first, numbers, |difference| {
                (difference * multiplier) >> shift
            });
            kernel::round_codes(numbers, codes, &mut rng);
        } else {
            change.read(layer, row, first, numbers, |difference| difference);
            for (&number, code) in numbers.iter().zip(&mut *codes) {
                let random = rng.next_u32() as u16;
                let rounded = scaling.factor.wide_step(number.into(), random);
                *code = rounded.clamp(-127, 127) as u8;
            }
        }
        for &code in &*codes {
            packer.put(i32::from(code as i8).clamp(-LIMIT, LIMIT));
        }
    });
    packer.finish();
    if !scaling.is_exact() {
        *stream = rng;
    }
}

/// Packs codes into bytes, the first in the lowest bits.
struct Packer<'a> {
    out: core::slice::IterMut<'a, u8>,
    bits: u32,
    count: usize,
}

impl<'a> Packer<'a> {
    fn new(out: &'a mut [u8]) -> Self {
        Self {
            out: out.iter_mut(),
            bits: 0,
            count: 0,
        }
    }

    #[inline(always)]
    fn put(&mut self, code: i32) {
        self.bits |= (code as u32 & 0x3F) << self.count;
        self.count += BITS;
        if self.count >= 8 {
            self.write();
        }
    }

    #[inline(always)]
    fn write(&mut self) {
        if let Some(out) = self.out.next() {
            *out = self.bits as u8;
        }
        self.bits >>= 8;
        self.count = self.count.saturating_sub(8);
    }

    fn finish(mut self) {
        if self.count > 0 {
            self.write();
        }
    }
}

/// Coded layers whose form was checked.
#[derive(Clone, Copy, Debug)]
pub struct Six<'a, L> {
    sizes: L,
    scales: [u32; MOST_LAYERS],
    /// Place of each layer's first byte.
    starts: [usize; MOST_LAYERS],
    codes: &'a [u8],
}

impl<'a, L: Layers> Six<'a, L> {
    /// Checks the scales of a coded model, whose length is right.
    pub(super) fn parse(sizes: L, bytes: &'a [u8]) -> Result<Self, CodeError> {
        let (header, codes) = bytes.split_at(4 * sizes.count());
        let (mut scales, mut starts) = ([0; MOST_LAYERS], [0; MOST_LAYERS]);
        let mut start = 0;
        for (layer, bytes) in header.as_chunks::<4>().0.iter().enumerate() {
            scales[layer] = checked(layer, u32::from_le_bytes(*bytes), LIMIT as u32)?;
            starts[layer] = start;
            start += bytes_of(sizes.size(layer));
        }
        Ok(Self {
            sizes,
            scales,
            starts,
            codes,
        })
    }
}

impl<L: Layers> Layers for Six<'_, L> {
    #[inline]
    fn count(&self) -> usize {
        self.sizes.count()
    }

    #[inline]
    fn size(&self, layer: usize) -> LayerSize {
        self.sizes.size(layer)
    }
}

impl<L: Layers> Change for Six<'_, L> {
    super::decoded!();

    fn read(
        &self,
        layer: usize,
        row: usize,
        first: usize,
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        let (start, scale) = (self.starts[layer], self.scales[layer]);
        let index = row * self.size(layer).columns + first;
        for (at, out) in (index..).zip(out) {
            let (byte, bit) = (start + BITS * at / 8, BITS * at % 8);
            // The last code of a layer may end with its last byte.
            let high = self.codes.get(byte + 1).copied().unwrap_or(0);
            let bits = u32::from(u16::from_le_bytes([self.codes[byte], high])) >> bit;
            let code = (bits << 26) as i32 >> 26;
            *out = convert(difference(code.into(), scale));
        }
    }
}
