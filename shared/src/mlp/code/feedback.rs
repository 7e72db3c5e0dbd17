//! Error feedback: what an upload left out is remembered and added to the next one.
//!
//! Rules, the same on a board, in a simulation and in a replay:
//! - The memory belongs to one client of one run, and starts at zero. A client of another run, or one that
//!   lost its memory, starts at zero again.
//! - An upload is coded from the change and the memory together ([`Memory::with`]). The memory moves on
//!   ([`Memory::advance`]) only once the base station has confirmed that the upload counted: after a lost,
//!   late or declined one it is what it was.
//! - A change with a memory is not shortened to a [`Clip`]: what a bound cuts off would come later.
//!
//! A value takes 8 bits, with one power of two for a stretch of at most 64 numbers of a row: 40,596 bytes
//! for 784-50-10. Rounding a value loses at most 1/254 of the largest one of its stretch.

use super::super::clip::Clip;
use super::change::{Change, DIFFERENCE_MAX, LayerSize, Layers, STRETCH, largest_of};

/// The memory of one client: for every stretch, a power of two and a byte a number.
#[derive(Debug)]
pub struct Memory<'a, L> {
    sizes: L,
    bytes: &'a mut [u8],
}

/// Returns the bytes of the memory of a client.
#[must_use]
pub fn memory_bytes(layers: &impl Layers) -> usize {
    let of_layer = |size: LayerSize| size.parameters() + size.stretches();
    let sizes = (0..layers.count()).map(|layer| layers.size(layer));
    sizes.map(of_layer).sum()
}

impl<'a, L: Layers> Memory<'a, L> {
    /// Takes [`memory_bytes`] bytes, zero or of an earlier upload; `None` if there are others.
    #[must_use]
    pub fn new(sizes: L, bytes: &'a mut [u8]) -> Option<Self> {
        (bytes.len() == memory_bytes(&sizes)).then_some(Self { sizes, bytes })
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.bytes.fill(0);
    }

    /// Returns a change with what is remembered.
    #[must_use]
    pub const fn with<'b, C: Change>(&'b self, change: &'b C) -> Remembered<'b, C, L> {
        Remembered {
            change,
            sizes: &self.sizes,
            bytes: self.bytes,
        }
    }

    /// Remembers what an upload left out of a change and of what was remembered before.
    pub fn advance(&mut self, change: &impl Change, upload: &impl Change) {
        let (mut wanted, mut sent) = ([0; STRETCH], [0; STRETCH]);
        for layer in 0..self.sizes.count() {
            let size = self.sizes.size(layer);
            for row in 0..size.rows {
                for first in (0..size.columns).step_by(STRETCH) {
                    let count = STRETCH.min(size.columns - first);
                    let (wanted, sent) = (&mut wanted[..count], &mut sent[..count]);
                    self.with(change)
                        .read(layer, row, first, wanted, |number| number);
                    upload.read(layer, row, first, sent, |number| number);
                    for (wanted, sent) in wanted.iter_mut().zip(&*sent) {
                        let left = wanted.saturating_sub(*sent);
                        *wanted = left.clamp(-DIFFERENCE_MAX, DIFFERENCE_MAX);
                    }
                    let at = place(&self.sizes, layer, row, first);
                    store(wanted, &mut self.bytes[at..=at + count]);
                }
            }
        }
    }
}

/// Returns the place of a stretch's power of two; its numbers follow.
fn place(sizes: &impl Layers, layer: usize, row: usize, first: usize) -> usize {
    let before = (0..layer).map(|layer| sizes.size(layer));
    let before: usize = before.map(|it| it.parameters() + it.stretches()).sum();
    let columns = sizes.size(layer).columns;
    before + row * (columns + columns.div_ceil(STRETCH)) + first + first / STRETCH
}

/// Writes numbers, rounded to the nearest multiple of the least power of two that suits them.
fn store(numbers: &[i32], bytes: &mut [u8]) {
    let Some((power, bytes)) = bytes.split_first_mut() else {
        return;
    };
    // 127.5 and more would round to 128.
    let largest = largest_of(numbers, 0);
    let mut shift = (u32::BITS - largest.leading_zeros()).saturating_sub(7);
    if (largest + ((1 << shift) >> 1)) >> shift > 127 {
        shift += 1;
    }
    *power = shift as u8;
    let half = (1 << shift) >> 1;
    for (number, byte) in numbers.iter().zip(bytes) {
        *byte = ((number + half) >> shift) as u8;
    }
}

/// A change with what earlier uploads left out.
#[derive(Debug)]
pub struct Remembered<'a, C, L> {
    change: &'a C,
    sizes: &'a L,
    bytes: &'a [u8],
}

impl<C: Change, L: Layers> Layers for Remembered<'_, C, L> {
    #[inline]
    fn count(&self) -> usize {
        self.change.count()
    }

    #[inline]
    fn size(&self, layer: usize) -> LayerSize {
        self.change.size(layer)
    }
}

impl<C: Change, L: Layers> Change for Remembered<'_, C, L> {
    fn read(
        &self,
        layer: usize,
        row: usize,
        first: usize,
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        self.change.read(layer, row, first, out, |number| number);
        let limit = (1 << self.bits(layer)) - 1;
        let bytes = &self.bytes[place(self.sizes, layer, row, first)..];
        let Some((&power, bytes)) = bytes.split_first() else {
            return;
        };
        // A stored power is at most 24.
        let power = power & 31;
        for (out, &byte) in out.iter_mut().zip(bytes) {
            let remembered = i32::from(byte as i8) << power;
            *out = convert(out.saturating_add(remembered).clamp(-limit, limit));
        }
    }

    /// Room for three times the largest change.
    fn bits(&self, layer: usize) -> u32 {
        30.min(self.change.bits(layer) + 2)
    }

    fn exceeded(&self, _: Clip) -> Option<(u32, u32)> {
        None
    }
}
