//! The parameters, their initial values, and their order on the wire.
//!
//! Order: W1 row by row of pixels `[IN][HID]`, b1 `[HID]`, W2 row by row of hidden units
//! `[HID][OUT]`, b2 `[OUT]`. The exact form ([`Params::write_exact`]) holds W1 and W2 as
//! little-endian `i16`, b1 and b2 as little-endian `i32`: 79,640 bytes for 784-50-10.

use super::kernel;
use crate::board::Shape;
use crate::rng::{Purpose, Rng};

/// The four parameter tensors, in wire order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tensor {
    /// Weights of the hidden layer.
    W1,
    /// Biases of the hidden layer.
    B1,
    /// Weights of the output layer.
    W2,
    /// Biases of the output layer.
    B2,
}

impl Tensor {
    /// All four, in wire order.
    pub const ALL: [Self; 4] = [Self::W1, Self::B1, Self::W2, Self::B2];

    /// Returns how many integer units make one: W1 2^14, b1 255 * 2^14, W2 2^12, b2 2^22.
    #[must_use]
    pub const fn units(self) -> u32 {
        match self {
            Self::W1 => 1 << 14,
            Self::B1 => 255 << 14,
            Self::W2 => 1 << 12,
            Self::B2 => 1 << 22,
        }
    }

    /// Returns the range of its parameters' indices in a network of these sizes.
    #[must_use]
    #[inline]
    pub const fn range(self, shape: Shape) -> core::ops::Range<usize> {
        let b1 = shape.inputs * shape.hidden;
        let w2 = b1 + shape.hidden;
        let b2 = w2 + shape.hidden * shape.classes;
        match self {
            Self::W1 => 0..b1,
            Self::B1 => b1..w2,
            Self::W2 => w2..b2,
            Self::B2 => b2..shape.parameters(),
        }
    }

    /// Returns how many of its parameters make a row: those of one pixel or hidden unit, or all biases.
    #[must_use]
    #[inline]
    pub const fn columns(self, shape: Shape) -> usize {
        match self {
            Self::W1 | Self::B1 => shape.hidden,
            Self::W2 | Self::B2 => shape.classes,
        }
    }

    /// Returns the largest magnitude a parameter may have, in units; everything saturates there.
    /// Weights use 16 bits, biases 31 so that adding one to a sum is the only place to saturate.
    #[must_use]
    pub const fn limit(self) -> i32 {
        match self {
            Self::W1 | Self::W2 => i16::MAX as i32,
            Self::B1 | Self::B2 => (1 << 30) - 1,
        }
    }
}

/// The parameters of an `IN`-`HID`-`OUT` perceptron; outside a device, of one that is no larger.
#[derive(Clone, Debug)]
#[repr(C, align(4))]
pub struct Params<const IN: usize, const HID: usize, const OUT: usize> {
    pub(super) w1: [[i16; HID]; IN],
    pub(super) b1: [i32; HID],
    pub(super) w2: [[i16; OUT]; HID],
    pub(super) b2: [i32; OUT],
    /// Fixed on a device, which is built for one network.
    #[cfg(not(target_os = "none"))]
    shape: Shape,
}

impl<const IN: usize, const HID: usize, const OUT: usize> Params<IN, HID, OUT> {
    /// The largest network that fits the memory.
    pub const ROOM: Shape = Shape {
        inputs: IN,
        hidden: HID,
        classes: OUT,
    };
    /// Size of the numbers in memory.
    pub const NUMBER_BYTES: usize = core::mem::offset_of!(Self, b2) + size_of::<[i32; OUT]>();
    /// Number of parameters of the largest network.
    pub const COUNT: usize = Self::ROOM.parameters();
    /// Size of its exact form in bytes.
    pub const EXACT_BYTES: usize = Self::ROOM.exact_bytes();

    /// Returns memory for parameters, ready for a static; they are valid but meaningless until one
    /// of the other methods fills them.
    pub const fn new() -> Self {
        const { assert!(IN > 0 && HID > 0 && OUT > 1 && OUT <= 256) };
        Self {
            w1: [[0; HID]; IN],
            b1: [0; HID],
            w2: [[0; OUT]; HID],
            b2: [0; OUT],
            #[cfg(not(target_os = "none"))]
            shape: Self::ROOM,
        }
    }

    /// Sets the sizes and clears all parameters; returns `false`, with nothing changed, if there is
    /// no room.
    #[cfg(not(target_os = "none"))]
    pub fn reshape(&mut self, shape: Shape) -> bool {
        let fits = shape.fits(Self::ROOM);
        if fits {
            self.w1.as_flattened_mut().fill(0);
            self.b1.fill(0);
            self.w2.as_flattened_mut().fill(0);
            self.b2.fill(0);
            self.shape = shape;
        }
        fits
    }

    /// Returns the sizes of the network.
    #[inline(always)]
    pub const fn shape(&self) -> Shape {
        #[cfg(not(target_os = "none"))]
        {
            self.shape
        }
        #[cfg(target_os = "none")]
        {
            Self::ROOM
        }
    }

    /// Returns the range of parameter indices of a tensor of the largest network.
    #[must_use]
    pub const fn range(tensor: Tensor) -> core::ops::Range<usize> {
        tensor.range(Self::ROOM)
    }

    /// Returns element `index` of a tensor, in its units.
    ///
    /// # Panics
    /// If the tensor has no such element.
    #[inline]
    pub fn get(&self, tensor: Tensor, index: usize) -> i32 {
        let columns = tensor.columns(self.shape());
        self.at(tensor, index / columns, index % columns)
    }

    /// Returns an element of a tensor by row and column, in its units; biases have one row.
    ///
    /// # Panics
    /// If the tensor has no such element.
    #[inline(always)]
    pub fn at(&self, tensor: Tensor, row: usize, column: usize) -> i32 {
        match tensor {
            Tensor::W1 => {
                let (row, column) = kernel::place::<IN, HID>(row, column);
                i32::from(kernel::load(&self.w1[row], column))
            }
            Tensor::B1 => self.b1[column],
            Tensor::W2 => i32::from(kernel::load(&self.w2[row], column)),
            Tensor::B2 => self.b2[column],
        }
    }

    /// Returns an element less that of another model, in its units.
    ///
    /// # Panics
    /// If the tensor has no such element.
    #[inline(always)]
    pub(super) fn difference(&self, base: &Self, tensor: Tensor, row: usize, column: usize) -> i32 {
        match tensor {
            Tensor::W1 => {
                let (row, column) = kernel::place::<IN, HID>(row, column);
                kernel::difference(&self.w1[row], &base.w1[row], column)
            }
            Tensor::W2 => kernel::difference(&self.w2[row], &base.w2[row], column),
            Tensor::B1 | Tensor::B2 => self.at(tensor, row, column) - base.at(tensor, row, column),
        }
    }

    /// Writes `convert` of elements of a row less those of another model, from a multiple of 64 `first` on, in units.
    ///
    /// # Panics
    /// If the tensor has no such elements.
    #[inline(always)]
    pub(super) fn differences(
        &self,
        base: &Self,
        tensor: Tensor,
        (row, first): (usize, usize),
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        match tensor {
            Tensor::W1 => kernel::pixel_differences(&self.w1, &base.w1, (row, first), out, convert),
            Tensor::W2 => kernel::differences(&self.w2[row], &base.w2[row], first, out, convert),
            Tensor::B1 | Tensor::B2 => {
                for (column, out) in (first..).zip(out) {
                    *out = convert(self.difference(base, tensor, row, column));
                }
            }
        }
    }

    /// Sets element `index` of a tensor, saturating at [`Tensor::limit`].
    ///
    /// # Panics
    /// If the tensor has no such element.
    #[inline]
    pub fn set(&mut self, tensor: Tensor, index: usize, value: i32) {
        let columns = tensor.columns(self.shape());
        self.put(tensor, index / columns, index % columns, value);
    }

    /// Sets an element by row and column, saturating.
    #[inline(always)]
    pub(super) fn put(&mut self, tensor: Tensor, row: usize, column: usize, value: i32) {
        let value = value.clamp(-tensor.limit(), tensor.limit());
        match tensor {
            Tensor::W1 => {
                let (row, column) = kernel::place::<IN, HID>(row, column);
                kernel::store(&mut self.w1[row], column, value as i16);
            }
            Tensor::B1 => self.b1[column] = value,
            Tensor::W2 => kernel::store(&mut self.w2[row], column, value as i16),
            Tensor::B2 => self.b2[column] = value,
        }
    }

    /// Replaces every parameter by `value(tensor, index, old)`, in wire order, saturating.
    #[inline]
    pub fn map(&mut self, mut value: impl FnMut(Tensor, usize, i32) -> i32) {
        // Each is compiled for its tensor.
        self.map_tensor(Tensor::W1, |index, old| value(Tensor::W1, index, old));
        self.map_tensor(Tensor::B1, |index, old| value(Tensor::B1, index, old));
        self.map_tensor(Tensor::W2, |index, old| value(Tensor::W2, index, old));
        self.map_tensor(Tensor::B2, |index, old| value(Tensor::B2, index, old));
    }

    /// Replaces every parameter of a tensor by `value(index, old)`, in wire order, saturating. Row by
    /// row, since a Cortex-M0+ divides by subroutine.
    #[inline(always)]
    fn map_tensor(&mut self, tensor: Tensor, mut value: impl FnMut(usize, i32) -> i32) {
        let columns = tensor.columns(self.shape());
        let rows = tensor.range(self.shape()).len() / columns;
        for row in 0..rows {
            for column in 0..columns {
                let old = self.at(tensor, row, column);
                self.put(tensor, row, column, value(row * columns + column, old));
            }
        }
    }

    /// Draws every parameter uniformly within +-1/sqrt(fan_in) from the run's
    /// [`Purpose::Initialise`] stream: the model before round 1, the same on both ends.
    pub fn initialise(&mut self, seed: u64) {
        let mut rng = Rng::stream(seed, Purpose::Initialise, 0, 0);
        let Shape { inputs, hidden, .. } = self.shape();
        self.map(|tensor, _, _| {
            let fan_in = match tensor {
                Tensor::W1 | Tensor::B1 => inputs,
                Tensor::W2 | Tensor::B2 => hidden,
            };
            let units = u64::from(tensor.units());
            let bound = (units * units / fan_in as u64).isqrt() as u32;
            rng.below(2 * bound + 1) as i32 - bound as i32
        });
    }

    /// Copies another set of parameters into this one.
    pub fn copy_from(&mut self, other: &Self) {
        self.w1.copy_from_slice(&other.w1);
        self.b1 = other.b1;
        self.w2.copy_from_slice(&other.w2);
        self.b2 = other.b2;
        #[cfg(not(target_os = "none"))]
        {
            self.shape = other.shape;
        }
    }

    /// Writes the parameters as real numbers, in wire order, as far as `out` reaches.
    pub fn write_f32(&self, out: &mut [f32]) {
        for tensor in Tensor::ALL {
            let scale = 1.0 / f64::from(tensor.units());
            for (index, at) in tensor.range(self.shape()).enumerate() {
                if let Some(out) = out.get_mut(at) {
                    *out = (f64::from(self.get(tensor, index)) * scale) as f32;
                }
            }
        }
    }

    /// Reads parameters from real numbers in wire order, rounding to the nearest unit and
    /// saturating; what `values` lacks stays as it is, and NaN becomes zero.
    pub fn read_f32(&mut self, values: &[f32]) {
        for tensor in Tensor::ALL {
            let units = f64::from(tensor.units());
            for (index, at) in tensor.range(self.shape()).enumerate() {
                if let Some(&value) = values.get(at) {
                    let scaled = f64::from(value) * units;
                    // `as` truncates and saturates, so half a unit away from zero rounds.
                    let rounded = (scaled + if scaled < 0.0 { -0.5 } else { 0.5 }) as i32;
                    self.set(tensor, index, rounded);
                }
            }
        }
    }

    /// Writes the exact form; `false`, and nothing written, if `out` is too short.
    pub fn write_exact(&self, out: &mut [u8]) -> bool {
        if out.len() < self.shape().exact_bytes() {
            return false;
        }
        let mut at = 0;
        for tensor in Tensor::ALL {
            for index in 0..tensor.range(self.shape()).len() {
                let bytes = self.get(tensor, index).to_le_bytes();
                let width = exact_width(tensor);
                out[at..at + width].copy_from_slice(&bytes[..width]);
                at += width;
            }
        }
        true
    }

    /// Reads the exact form; `false`, and nothing changed, if `bytes` has the wrong length.
    pub fn read_exact(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() != self.shape().exact_bytes() {
            return false;
        }
        let rest = self.read_rows::<2>(Tensor::W1, bytes);
        let rest = self.read_rows::<4>(Tensor::B1, rest);
        let rest = self.read_rows::<2>(Tensor::W2, rest);
        self.read_rows::<4>(Tensor::B2, rest);
        true
    }

    /// Reads the exact form of a tensor, `WIDTH` bytes a parameter; returns the bytes behind it.
    #[inline(always)]
    fn read_rows<'a, const WIDTH: usize>(&mut self, tensor: Tensor, bytes: &'a [u8]) -> &'a [u8] {
        let columns = tensor.columns(self.shape());
        let rows = tensor.range(self.shape()).len() / columns;
        let (mut numbers, rest) = {
            let (bytes, rest) = bytes.split_at(rows * columns * WIDTH);
            (bytes.as_chunks::<WIDTH>().0, rest)
        };
        for row in 0..rows {
            let (of_row, others) = numbers.split_at(columns);
            numbers = others;
            in_pairs!(column in columns => {
                let number = &of_row[column][..];
                let number = match *number {
                    [low, high] => i32::from(i16::from_le_bytes([low, high])),
                    [a, b, c, d] => i32::from_le_bytes([a, b, c, d]),
                    _ => 0,
                };
                self.put(tensor, row, column, number);
            });
        }
        rest
    }

    /// Returns a 64-bit fingerprint of the parameters in wire order (FNV-1a over 32-bit words).
    pub fn fingerprint(&self) -> u64 {
        let mut hash = 0xCBF2_9CE4_8422_2325u64;
        for tensor in Tensor::ALL {
            for index in 0..tensor.range(self.shape()).len() {
                hash ^= u64::from(self.get(tensor, index) as u32);
                hash = hash.wrapping_mul(0x0000_0100_0000_01B3);
            }
        }
        hash
    }
}

/// Runs a block for every number below a count, two numbers a turn: what depends on the lowest bit is
/// settled when the block is compiled, which a closure called from two places would not be.
macro_rules! in_pairs {
    ($at:ident in $count:expr => $body:block) => {
        for pair in 0..$count / 2 {
            {
                let $at = 2 * pair;
                $body
            }
            {
                let $at = 2 * pair + 1;
                $body
            }
        }
        if $count % 2 != 0 {
            let $at = $count - 1;
            $body
        }
    };
}
pub(super) use in_pairs;

/// Bytes of one parameter in the exact form.
const fn exact_width(tensor: Tensor) -> usize {
    match tensor {
        Tensor::W1 | Tensor::W2 => 2,
        Tensor::B1 | Tensor::B2 => 4,
    }
}

impl<const IN: usize, const HID: usize, const OUT: usize> PartialEq for Params<IN, HID, OUT> {
    fn eq(&self, other: &Self) -> bool {
        let layers = self.w1 == other.w1 && self.b1 == other.b1;
        let layers = layers && self.w2 == other.w2 && self.b2 == other.b2;
        layers && self.shape() == other.shape()
    }
}

impl<const IN: usize, const HID: usize, const OUT: usize> Eq for Params<IN, HID, OUT> {}
