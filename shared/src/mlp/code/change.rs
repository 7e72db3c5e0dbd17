//! A change of a model as the coders see it: layers of integers that are read a stretch at a time.
//!
//! The source may be two models of a device ([`Between`]), numbers of the host, a decoded upload, or a
//! change with what earlier uploads left out. A coder needs no other access, so that no change is ever
//! in memory as a whole.

use super::super::clip::Clip;
use super::super::descent::Factor;
use super::super::params::{Params, Tensor, in_pairs};
use crate::board::Shape;

/// The most numbers of a row that are read at a time.
pub const STRETCH: usize = 64;
/// The most layers of a network that is coded; biases are layers of one row.
pub const MOST_LAYERS: usize = 16;
/// Differences saturate here, so that every scale fits 32 bits.
pub(super) const DIFFERENCE_MAX: i32 = 1 << 30;

/// The size of a layer as a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LayerSize {
    pub rows: usize,
    pub columns: usize,
}

impl LayerSize {
    /// Returns the number of parameters.
    #[must_use]
    pub const fn parameters(self) -> usize {
        self.rows * self.columns
    }

    /// Returns the number of stretches of all its rows.
    #[must_use]
    pub const fn stretches(self) -> usize {
        self.rows * self.columns.div_ceil(STRETCH)
    }

    /// Calls `each` with row, first column and length of every stretch, row by row.
    #[inline(always)]
    pub(super) fn each_stretch(self, mut each: impl FnMut(usize, usize, usize)) {
        for row in 0..self.rows {
            for first in (0..self.columns).step_by(STRETCH) {
                each(row, first, STRETCH.min(self.columns - first));
            }
        }
    }
}

/// The sizes of all layers of a network, at most [`MOST_LAYERS`], in the order of the wire.
pub trait Layers {
    /// Returns the number of layers.
    fn count(&self) -> usize;

    /// Returns the size of a layer; of one that does not exist, zero.
    fn size(&self, layer: usize) -> LayerSize;

    /// Returns the number of parameters of all layers.
    fn parameters(&self) -> usize {
        (0..self.count()).map(|at| self.size(at).parameters()).sum()
    }
}

/// The four tensors of a device's network.
impl Layers for Shape {
    #[inline]
    fn count(&self) -> usize {
        Tensor::ALL.len()
    }

    #[inline]
    fn size(&self, layer: usize) -> LayerSize {
        let Some(tensor) = Tensor::ALL.get(layer) else {
            return LayerSize::default();
        };
        let columns = tensor.columns(*self);
        LayerSize {
            rows: tensor.range(*self).len() / columns,
            columns,
        }
    }
}

impl Layers for &[LayerSize] {
    fn count(&self) -> usize {
        self.len()
    }

    fn size(&self, layer: usize) -> LayerSize {
        self.get(layer).copied().unwrap_or_default()
    }
}

/// A change of a model, in integers.
pub trait Change: Layers {
    /// Writes `convert` of the differences of a row, from column `first` on, into `out`. `first` is a
    /// multiple of [`STRETCH`] and `out` no longer than that; no magnitude exceeds 2^30.
    fn read(
        &self,
        layer: usize,
        row: usize,
        first: usize,
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    );

    /// Returns how many bits the magnitudes of a layer may have, at most 30.
    fn bits(&self, layer: usize) -> u32;

    /// Returns the bound and the length of the change, in one unit, if it is longer than the bound.
    fn exceeded(&self, clip: Clip) -> Option<(u32, u32)>;

    /// Returns the largest magnitude of a layer.
    fn largest(&self, layer: usize) -> u32 {
        let (mut largest, mut numbers) = (0, [0; STRETCH]);
        self.size(layer).each_stretch(|row, first, count| {
            let numbers = &mut numbers[..count];
            self.read(layer, row, first, numbers, |number| number);
            largest = largest_of(numbers, largest);
        });
        largest
    }
}

/// Returns the largest of `least` and the magnitudes of numbers of at most 30 bits.
#[inline(always)]
pub(super) fn largest_of(numbers: &[i32], mut least: u32) -> u32 {
    for &number in numbers {
        if exceeds(number, least) {
            least = number.unsigned_abs();
        }
    }
    least
}

/// Returns whether the magnitude of a number exceeds `limit`, at most 2^30, in one comparison.
#[inline(always)]
const fn exceeds(number: i32, limit: u32) -> bool {
    (number as u32).wrapping_add(limit) > 2 * limit
}

/// The change from one model of a device to another.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Between<'a, const IN: usize, const HID: usize, const OUT: usize> {
    pub model: &'a Params<IN, HID, OUT>,
    pub base: &'a Params<IN, HID, OUT>,
}

impl<const IN: usize, const HID: usize, const OUT: usize> Between<'_, IN, HID, OUT> {
    #[inline(always)]
    fn read_tensor(
        &self,
        tensor: Tensor,
        (row, first): (usize, usize),
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        let convert = |difference| convert(limited(tensor, difference));
        (self.model).differences(self.base, tensor, (row, first), out, convert);
    }

    #[inline(always)]
    fn largest_in(&self, tensor: Tensor) -> u32 {
        let size = self.size(tensor as usize);
        let mut largest = 0;
        for row in 0..size.rows {
            in_pairs!(column in size.columns => {
                let difference = self.model.difference(self.base, tensor, row, column);
                let difference = limited(tensor, difference);
                if exceeds(difference, largest) {
                    largest = difference.unsigned_abs();
                }
            });
        }
        largest
    }
}

impl<const IN: usize, const HID: usize, const OUT: usize> Layers for Between<'_, IN, HID, OUT> {
    #[inline]
    fn count(&self) -> usize {
        self.model.shape().count()
    }

    #[inline]
    fn size(&self, layer: usize) -> LayerSize {
        self.model.shape().size(layer)
    }
}

impl<const IN: usize, const HID: usize, const OUT: usize> Change for Between<'_, IN, HID, OUT> {
    #[inline(always)]
    fn read(
        &self,
        layer: usize,
        row: usize,
        first: usize,
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        // Each is compiled for its tensor.
        match layer {
            0 => self.read_tensor(Tensor::W1, (row, first), out, convert),
            1 => self.read_tensor(Tensor::B1, (row, first), out, convert),
            2 => self.read_tensor(Tensor::W2, (row, first), out, convert),
            3 => self.read_tensor(Tensor::B2, (row, first), out, convert),
            _ => {}
        }
    }

    #[inline]
    fn bits(&self, layer: usize) -> u32 {
        match layer {
            // Weights have 16 bits.
            0 | 2 => 17,
            _ => 30,
        }
    }

    fn exceeded(&self, clip: Clip) -> Option<(u32, u32)> {
        clip.exceeded(self.model, self.base)
    }

    fn largest(&self, layer: usize) -> u32 {
        match layer {
            0 => self.largest_in(Tensor::W1),
            1 => self.largest_in(Tensor::B1),
            2 => self.largest_in(Tensor::W2),
            3 => self.largest_in(Tensor::B2),
            _ => 0,
        }
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

/// A change multiplied by a factor below 1, each difference rounded to the nearest integer.
pub(super) struct Shortened<'a, C> {
    change: &'a C,
    factor: Option<Factor>,
}

impl<'a, C: Change> Shortened<'a, C> {
    /// Shortens a change to `clip`, if it is longer.
    pub(super) fn to(change: &'a C, clip: Clip) -> Self {
        let ratio = |(bound, length): (u32, u32)| Factor::ratio(bound.into(), length.into());
        Self {
            change,
            factor: change.exceeded(clip).map(ratio),
        }
    }
}

impl<C: Change> Layers for Shortened<'_, C> {
    #[inline]
    fn count(&self) -> usize {
        self.change.count()
    }

    #[inline]
    fn size(&self, layer: usize) -> LayerSize {
        self.change.size(layer)
    }
}

impl<C: Change> Change for Shortened<'_, C> {
    #[inline]
    fn read(
        &self,
        layer: usize,
        row: usize,
        first: usize,
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        match self.factor {
            None => self.change.read(layer, row, first, out, convert),
            Some(factor) => {
                self.change.read(layer, row, first, out, |number| number);
                for number in out {
                    *number = convert(factor.wide_step((*number).into(), 1 << 15));
                }
            }
        }
    }

    #[inline]
    fn bits(&self, layer: usize) -> u32 {
        self.change.bits(layer)
    }

    fn exceeded(&self, _: Clip) -> Option<(u32, u32)> {
        None
    }

    fn largest(&self, layer: usize) -> u32 {
        let largest = self.change.largest(layer);
        self.factor.map_or(largest, |factor| {
            factor.wide_step(largest.into(), 1 << 15) as u32
        })
    }
}

/// Adds a change to a model, saturating.
pub fn apply<const IN: usize, const HID: usize, const OUT: usize>(
    change: &impl Change,
    model: &mut Params<IN, HID, OUT>,
) {
    let (mut numbers, shape) = ([0; STRETCH], model.shape());
    for (layer, tensor) in Tensor::ALL.into_iter().enumerate() {
        shape.size(layer).each_stretch(|row, first, count| {
            let numbers = &mut numbers[..count];
            change.read(layer, row, first, numbers, |number| number);
            for (column, &number) in (first..).zip(&*numbers) {
                let old = model.at(tensor, row, column);
                model.put(tensor, row, column, old.saturating_add(number));
            }
        });
    }
}

/// Writes a change as real numbers, in wire order, as far as `out` reaches; `units` is how many
/// integers of a layer make one.
pub fn write_f32(change: &impl Change, units: impl Fn(usize) -> u32, out: &mut [f32]) {
    let (mut numbers, mut start) = ([0; STRETCH], 0);
    for layer in 0..change.count() {
        let (size, scale) = (change.size(layer), 1.0 / f64::from(units(layer)));
        size.each_stretch(|row, first, count| {
            let numbers = &mut numbers[..count];
            change.read(layer, row, first, numbers, |number| number);
            let at = start + row * size.columns + first;
            for (out, &number) in out.iter_mut().skip(at).zip(&*numbers) {
                *out = (f64::from(number) * scale) as f32;
            }
        });
        start += size.parameters();
    }
}
