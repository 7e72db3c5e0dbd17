//! The codes `q8` and `q16`: a code of 8 or 16 bits a parameter and a scale a layer.
//!
//! Raw weights at 8 bits would lose small updates; a difference keeps them, because its scale
//! shrinks with it. Layout: the scales, one a layer in wire order (W1, b1, W2, b2), each a
//! little-endian `u32` in units of 2^-8 of the layer's unit; then one code a parameter in wire
//! order, an `i8` or a little-endian `i16`. For 784-50-10 that is 16 + 39,760 or 16 + 79,520
//! bytes, whatever the values.
//!
//! Decoding is the same integer on every machine: (code * scale + 128) >> 8 is added to the base,
//! saturating. Encoding divides by the scale and rounds at random, up with the probability of
//! the fraction, so that codes are right on average; the scale is the least one that clips
//! nothing, and never below 1: differences of at most 127 units (32,767 with 16 bits) travel
//! exactly. A change that is longer than the order's [`Clip`] is shortened to it as it is coded: all its
//! differences are multiplied by one factor before they are rounded.

use super::super::clip::Clip;
use super::super::kernel;
use super::super::params::{Params, Tensor, in_pairs};
use super::CodeError;
use super::change::{Between, Change, LayerSize, Layers, MOST_LAYERS, STRETCH};
use super::scale::Scaling;
use crate::board::Shape;
use crate::rng::Rng;

/// Bytes of the four scales in front of the codes of a device's network.
pub const HEADER_BYTES: usize = 16;

/// The width of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Width {
    /// 8 bits a parameter, as in the paper.
    Byte,
    /// 16 bits a parameter, for comparison.
    Wide,
}

impl Width {
    /// Returns the bytes of one code.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Wide => 2,
        }
    }

    /// Returns the largest magnitude of a code.
    #[must_use]
    pub const fn limit(self) -> i32 {
        match self {
            Self::Byte => i8::MAX as i32,
            Self::Wide => i16::MAX as i32,
        }
    }

    /// Returns the bytes of a whole coded model, header included.
    #[must_use]
    pub const fn coded_bytes(self, parameters: usize) -> usize {
        HEADER_BYTES + parameters * self.bytes()
    }
}

/// Writes `model - base`, at most as long as `clip`, into the first [`Width::coded_bytes`] bytes of
/// `out` and returns how many those are. `rng` is the stream of [`crate::rng::Purpose::Uplink`] or
/// [`crate::rng::Purpose::Downlink`] of this client and round; a tensor that travels exactly
/// draws nothing from it, any other draws a word a parameter.
///
/// # Errors
/// If `out` is too short; nothing is written then.
// One copy for orders and measurements: each takes 8 KB on a Cortex-M4.
#[inline(never)]
pub fn encode<const IN: usize, const HID: usize, const OUT: usize>(
    model: &Params<IN, HID, OUT>,
    base: &Params<IN, HID, OUT>,
    width: Width,
    clip: Clip,
    rng: &mut Rng,
    out: &mut [u8],
) -> Result<usize, CodeError> {
    encode_change(&Between { model, base }, width, clip, rng, out)
}

/// As [`encode`], of any change: into the first [`coded_bytes`] bytes of `out`.
pub(super) fn encode_change(
    change: &impl Change,
    width: Width,
    clip: Clip,
    rng: &mut Rng,
    out: &mut [u8],
) -> Result<usize, CodeError> {
    let expected = coded_bytes(change, width);
    let bytes = out.len();
    let parts = out.get_mut(..expected);
    let parts = parts.and_then(|out| out.split_at_mut_checked(4 * change.count()));
    let Some((header, mut codes)) = parts else {
        return Err(CodeError::Length { bytes, expected });
    };
    let shortening = change.exceeded(clip);
    for (layer, scale) in header.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let (of_layer, others) =
            codes.split_at_mut(change.size(layer).parameters() * width.bytes());
        codes = others;
        let scaling = Scaling::new(change.largest(layer), width.limit() as u32, shortening);
        *scale = scaling.scale.to_le_bytes();
        write_layer(change, layer, (width, &scaling), rng, of_layer);
    }
    Ok(expected)
}

/// Returns the bytes of a coded model of these layers.
pub(super) fn coded_bytes(layers: &impl Layers, width: Width) -> usize {
    4 * layers.count() + layers.parameters() * width.bytes()
}

/// Writes the codes of a layer. Every parameter takes a random word, whatever the scale, so that
/// the cycles do not follow the numbers; the stream moves on only where the words mattered.
pub(super) fn write_layer(
    change: &impl Change,
    layer: usize,
    (width, scaling): (Width, &Scaling),
    stream: &mut Rng,
    mut codes: &mut [u8],
) {
    let (mut rng, mut numbers) = (stream.clone(), [0; STRETCH]);
    let is_small = width == Width::Byte && scaling.is_small();
    let ((multiplier, shift), limit) = (scaling.factor.for_small(), width.limit());
    change.size(layer).each_stretch(|row, first, count| {
        let numbers = &mut numbers[..count];
        let (out, others) = core::mem::take(&mut codes).split_at_mut(count * width.bytes());
        codes = others;
        if is_small {
            change.read(layer, row, first, numbers, |difference| {
                (difference * multiplier) >> shift
            });
            kernel::round_codes(numbers, out, &mut rng);
            return;
        }
        change.read(layer, row, first, numbers, |difference| difference);
        for (&number, out) in numbers.iter().zip(out.chunks_exact_mut(width.bytes())) {
            let code = (scaling.factor).wide_step(number.into(), rng.next_u32() as u16);
            let code = code.clamp(-limit, limit).to_le_bytes();
            out.copy_from_slice(&code[..width.bytes()]);
        }
    });
    if !scaling.is_exact() {
        *stream = rng;
    }
}

/// Coded layers whose form was checked.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a, L> {
    sizes: L,
    width: Width,
    scales: [u32; MOST_LAYERS],
    /// Place of each layer's first code.
    starts: [usize; MOST_LAYERS],
    codes: &'a [u8],
}

impl<'a, L: Layers> Plain<'a, L> {
    /// Checks the form of a coded model of these layers.
    pub(super) fn parse(sizes: L, bytes: &'a [u8], width: Width) -> Result<Self, CodeError> {
        let expected = coded_bytes(&sizes, width);
        let header = bytes.split_at_checked(4 * sizes.count());
        let (header, codes) = match header {
            Some(parts) if bytes.len() == expected && sizes.count() <= MOST_LAYERS => parts,
            _ => {
                return Err(CodeError::Length {
                    bytes: bytes.len(),
                    expected,
                });
            }
        };
        let (mut scales, mut starts) = ([0; MOST_LAYERS], [0; MOST_LAYERS]);
        let mut start = 0;
        for (layer, bytes) in header.as_chunks::<4>().0.iter().enumerate() {
            let scale = u32::from_le_bytes(*bytes);
            scales[layer] = super::scale::checked(layer, scale, width.limit() as u32)?;
            starts[layer] = start;
            start += sizes.size(layer).parameters();
        }
        Ok(Self {
            sizes,
            width,
            scales,
            starts,
            codes,
        })
    }

    /// Returns the difference of the code at `at` in a layer, in its units.
    #[inline]
    fn difference(&self, layer: usize, at: usize) -> i32 {
        let at = self.starts[layer] + at;
        let code = match self.width {
            Width::Byte => i64::from(self.codes[at] as i8),
            Width::Wide => i64::from(i16::from_le_bytes([
                self.codes[2 * at],
                self.codes[2 * at + 1],
            ])),
        };
        super::scale::difference(code, self.scales[layer])
    }
}

impl<L: Layers> Layers for Plain<'_, L> {
    #[inline]
    fn count(&self) -> usize {
        self.sizes.count()
    }

    #[inline]
    fn size(&self, layer: usize) -> LayerSize {
        self.sizes.size(layer)
    }
}

impl<L: Layers> Change for Plain<'_, L> {
    super::decoded!();

    fn read(
        &self,
        layer: usize,
        row: usize,
        first: usize,
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        let start = row * self.size(layer).columns + first;
        for (at, out) in (start..).zip(out) {
            *out = convert(self.difference(layer, at));
        }
    }
}

/// A coded model of a device whose form was checked.
#[derive(Clone, Copy, Debug)]
pub struct Code<'a, const IN: usize, const HID: usize, const OUT: usize>(Plain<'a, Shape>);

impl<'a, const IN: usize, const HID: usize, const OUT: usize> Code<'a, IN, HID, OUT> {
    /// Checks the form of a coded model.
    ///
    /// # Errors
    /// If the length is not that of a coded model of this size, or a scale is impossible.
    pub fn parse(bytes: &'a [u8], width: Width) -> Result<Self, CodeError> {
        Self::parse_sized(Params::<IN, HID, OUT>::ROOM, bytes, width)
    }

    /// As [`Code::parse`], of a network of these sizes.
    ///
    /// # Errors
    /// As [`Code::parse`].
    #[inline]
    pub fn parse_sized(shape: Shape, bytes: &'a [u8], width: Width) -> Result<Self, CodeError> {
        Plain::parse(shape, bytes, width).map(Self)
    }

    /// Returns the difference of element `index` of a tensor, in its units.
    ///
    /// # Panics
    /// If the tensor has no such element.
    #[inline]
    pub fn difference(&self, tensor: Tensor, index: usize) -> i32 {
        self.0.difference(tensor as usize, index)
    }

    /// Adds the difference to the base, saturating: the decoded model.
    pub fn apply(&self, base: &mut Params<IN, HID, OUT>) {
        // Each is compiled for its tensor.
        self.apply_tensor(base, Tensor::W1);
        self.apply_tensor(base, Tensor::B1);
        self.apply_tensor(base, Tensor::W2);
        self.apply_tensor(base, Tensor::B2);
    }

    #[inline(always)]
    fn apply_tensor(&self, base: &mut Params<IN, HID, OUT>, tensor: Tensor) {
        let scale = self.0.scales[tensor as usize];
        let columns = tensor.columns(self.0.sizes);
        let range = tensor.range(self.0.sizes);
        if self.0.width == Width::Byte && scale >> 24 == 0 {
            let scale = scale as i32;
            let mut codes = &self.0.codes[range.clone()];
            for row in 0..range.len() / columns {
                let (of_row, others) = codes.split_at(columns);
                codes = others;
                in_pairs!(column in columns => {
                    // As `difference`, in 32 bits.
                    let difference = (i32::from(of_row[column] as i8) * scale + 128) >> 8;
                    let old = base.at(tensor, row, column);
                    // Numbers are below 2^30 and differences below 2^24.
                    base.put(tensor, row, column, old.wrapping_add(difference));
                });
            }
        } else {
            for index in 0..range.len() {
                let (row, column) = (index / columns, index % columns);
                let new = base
                    .at(tensor, row, column)
                    .saturating_add(self.difference(tensor, index));
                base.put(tensor, row, column, new);
            }
        }
    }

    /// Writes the difference as real numbers, in wire order, as far as `out` reaches.
    pub fn write_f32(&self, out: &mut [f32]) {
        super::change::write_f32(&self.0, |layer| Tensor::ALL[layer].units(), out);
    }
}
