//! The code of a model on the wire: the difference to the last model that both ends hold.
//!
//! Raw weights at 8 bits would lose small updates; a difference keeps them, because its scale
//! shrinks with it. Layout: four scales, one a tensor in wire order (W1, b1, W2, b2), each a
//! little-endian `u32` in units of 2^-8 of the tensor's unit; then one code a parameter in wire
//! order, an `i8` or a little-endian `i16`. For 784-50-10 that is 16 + 39,760 or 16 + 79,520
//! bytes, whatever the values.
//!
//! Decoding is the same integer on every machine: (code * scale + 128) >> 8 is added to the base,
//! saturating. Encoding divides by the scale and rounds at random, up with the probability of
//! the fraction, so that codes are right on average; the scale is the least one that clips
//! nothing, and never below 1: differences of at most 127 units (32,767 with 16 bits) travel
//! exactly. A change that is longer than the order's [`Clip`] is shortened to it as it is coded: all its
//! differences are multiplied by one factor before they are rounded.

use super::clip::Clip;
use super::descent::Factor;
use super::kernel;
use super::params::{Params, Tensor, in_pairs};
use crate::board::Shape;
use crate::rng::Rng;

/// Bytes of the four scales in front of the codes.
pub const HEADER_BYTES: usize = 16;

/// A scale of one unit.
const SCALE_ONE: u32 = 1 << 8;
/// Differences up to here are scaled in 32-bit arithmetic: those of trained weights.
const SMALL: u32 = (1 << 15) - 1;
/// Numbers that are scaled, rounded and written at a time.
const STRETCH: usize = 64;
/// Differences saturate here, so that every scale fits 32 bits.
const DIFFERENCE_MAX: i32 = 1 << 30;

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

/// The error of bytes that are no coded model, or of a buffer that is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum CodeError {
    #[error("a coded model of this size has {expected} bytes, not {bytes}")]
    Length { bytes: usize, expected: usize },
    #[error("scale {scale} of tensor {tensor} cannot come from an encoder")]
    Scale { tensor: usize, scale: u32 },
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
    let expected = width.coded_bytes(model.shape().parameters());
    let bytes = out.len();
    let Some((header, codes)) = out
        .get_mut(..expected)
        .and_then(<[u8]>::split_first_chunk_mut::<HEADER_BYTES>)
    else {
        return Err(CodeError::Length { bytes, expected });
    };
    let mut writer = Writer {
        width,
        shortening: clip.exceeded(model, base),
        rng,
        scales: header.as_chunks_mut::<4>().0.iter_mut(),
        codes,
    };
    // Each is compiled for its tensor.
    writer.tensor(model, base, Tensor::W1);
    writer.tensor(model, base, Tensor::B1);
    writer.tensor(model, base, Tensor::W2);
    writer.tensor(model, base, Tensor::B2);
    Ok(expected)
}

/// Writes the codes of one tensor after another.
struct Writer<'a> {
    width: Width,
    /// Numerator and denominator of the factor on every difference, which is below 1.
    shortening: Option<(u32, u32)>,
    rng: &'a mut Rng,
    scales: core::slice::IterMut<'a, [u8; 4]>,
    /// Space of the tensors to come.
    codes: &'a mut [u8],
}

impl Writer<'_> {
    /// Writes the codes of a tensor. Every parameter takes a random word, whatever the scale, so that
    /// the cycles do not follow the numbers; the stream moves on only where the words mattered.
    #[inline(always)]
    fn tensor<const IN: usize, const HID: usize, const OUT: usize>(
        &mut self,
        model: &Params<IN, HID, OUT>,
        base: &Params<IN, HID, OUT>,
        tensor: Tensor,
    ) {
        let columns = tensor.columns(model.shape());
        let rows = tensor.range(model.shape()).len() / columns;
        let mut largest = 0;
        for row in 0..rows {
            in_pairs!(column in columns => {
                let difference = limited(tensor, model.difference(base, tensor, row, column));
                if exceeds(difference, largest) {
                    largest = difference.unsigned_abs();
                }
            });
        }
        let (scale, factor) = self.scaling(largest);
        if let Some(out) = self.scales.next() {
            *out = scale.to_le_bytes();
        }
        let mut rng = self.rng.clone();
        if self.width == Width::Byte && largest <= SMALL {
            let (multiplier, shift) = factor.for_small();
            let mut numbers = [0; STRETCH];
            for row in 0..rows {
                for first in (0..columns).step_by(STRETCH) {
                    let numbers = &mut numbers[..STRETCH.min(columns - first)];
                    let count = numbers.len();
                    in_pairs!(at in count => {
                        let difference = model.difference(base, tensor, row, first + at);
                        numbers[at] = (difference * multiplier) >> shift;
                    });
                    kernel::round_codes(numbers, self.take(count), &mut rng);
                }
            }
        } else {
            let limit = self.width.limit();
            for row in 0..rows {
                for column in 0..columns {
                    let difference = limited(tensor, model.difference(base, tensor, row, column));
                    let code = factor.wide_step(difference.into(), rng.next_u32() as u16);
                    let code = code.clamp(-limit, limit).to_le_bytes();
                    let out = self.take(1);
                    out.copy_from_slice(&code[..out.len()]);
                }
            }
        }
        if scale != SCALE_ONE || self.shortening.is_some() {
            *self.rng = rng;
        }
    }

    /// Returns the scale of a tensor whose largest difference is given, and the factor from its
    /// differences to codes.
    #[inline(never)]
    fn scaling(&self, largest: u32) -> (u32, Factor) {
        let one = u64::from(SCALE_ONE);
        let Some((bound, length)) = self.shortening else {
            let scale = scale_for(largest, self.width);
            return (scale, Factor::ratio(one, scale.into()));
        };
        let (bound, length) = (u64::from(bound), u64::from(length));
        // At most 2^30 * 2^32.
        let shortened = (u64::from(largest) * bound).div_ceil(length);
        let scale = scale_for(shortened as u32, self.width);
        let (top, bottom) = (one * bound, u64::from(scale) * length);
        // A factor has a bottom below 2^46 and 16 significant bits.
        let excess = (u64::BITS - 46).saturating_sub(bottom.leading_zeros());
        (scale, Factor::ratio(top >> excess, bottom >> excess))
    }

    /// Takes the space of the next codes.
    fn take(&mut self, count: usize) -> &mut [u8] {
        let codes = core::mem::take(&mut self.codes);
        let (out, rest) = codes.split_at_mut(count * self.width.bytes());
        self.codes = rest;
        out
    }
}

/// Returns a difference of biases within its limit; one of weights always is.
#[inline(always)]
fn limited(tensor: Tensor, difference: i32) -> i32 {
    match tensor {
        Tensor::W1 | Tensor::W2 => difference,
        Tensor::B1 | Tensor::B2 => difference.clamp(-DIFFERENCE_MAX, DIFFERENCE_MAX),
    }
}

/// Returns whether the magnitude of a number exceeds `limit`, at most 2^30, in one comparison.
#[inline(always)]
const fn exceeds(number: i32, limit: u32) -> bool {
    (number as u32).wrapping_add(limit) > 2 * limit
}

/// Returns the least scale that clips nothing.
const fn scale_for(largest: u32, width: Width) -> u32 {
    let scale = (largest as u64 * SCALE_ONE as u64).div_ceil(width.limit() as u64) as u32;
    if scale < SCALE_ONE { SCALE_ONE } else { scale }
}

/// A coded model whose form was checked.
#[derive(Clone, Copy, Debug)]
pub struct Code<'a, const IN: usize, const HID: usize, const OUT: usize> {
    scales: [u32; 4],
    codes: &'a [u8],
    width: Width,
    shape: Shape,
}

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
        let expected = width.coded_bytes(shape.parameters());
        let (header, codes) = match bytes.split_first_chunk::<HEADER_BYTES>() {
            Some(parts) if bytes.len() == expected => parts,
            _ => {
                return Err(CodeError::Length {
                    bytes: bytes.len(),
                    expected,
                });
            }
        };
        let mut scales = [0; 4];
        for (tensor, (scale, bytes)) in scales.iter_mut().zip(header.as_chunks::<4>().0).enumerate()
        {
            *scale = u32::from_le_bytes(*bytes);
            let highest = scale_for(DIFFERENCE_MAX as u32, width);
            if !(SCALE_ONE..=highest).contains(scale) {
                return Err(CodeError::Scale {
                    tensor,
                    scale: *scale,
                });
            }
        }
        Ok(Self {
            scales,
            codes,
            width,
            shape,
        })
    }

    /// Returns the difference of element `index` of a tensor, in its units.
    ///
    /// # Panics
    /// If the tensor has no such element.
    #[inline]
    pub fn difference(&self, tensor: Tensor, index: usize) -> i32 {
        let at = tensor.range(self.shape).start + index;
        let code = match self.width {
            Width::Byte => i64::from(self.codes[at] as i8),
            Width::Wide => i64::from(i16::from_le_bytes([
                self.codes[2 * at],
                self.codes[2 * at + 1],
            ])),
        };
        let scale = i64::from(self.scales[tensor as usize]);
        // |code| may be one above the limit in a forged message: 2^15 * 2^31 >> 8 would exceed 32
        // bits.
        let limit = i64::from(i32::MAX);
        ((code * scale + 128) >> 8).clamp(-limit, limit) as i32
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
        let scale = self.scales[tensor as usize];
        let columns = tensor.columns(self.shape);
        let range = tensor.range(self.shape);
        if self.width == Width::Byte && scale >> 24 == 0 {
            let scale = scale as i32;
            let mut codes = &self.codes[range.clone()];
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
        for tensor in Tensor::ALL {
            let scale = 1.0 / f64::from(tensor.units());
            for (index, at) in tensor.range(self.shape).enumerate() {
                if let Some(out) = out.get_mut(at) {
                    *out = (f64::from(self.difference(tensor, index)) * scale) as f32;
                }
            }
        }
    }
}
