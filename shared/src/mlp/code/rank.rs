//! The codes `rank-1`, `rank-2`, `rank-4` and `rank-8`: two thin factors in place of a layer's change.
//!
//! For the change G of a layer (m x n) and a sketch Q (n x r) of signs that both ends could draw:
//! P = G Q, its columns made orthogonal, and Q' = G^T P. What is added to the model is P Q'^T, the part of
//! G in the span of P: one step of the power method, as in PowerSGD (Vogels et al., 2019). Small layers
//! and biases travel as in [`q8`](super::plain).
//!
//! Layout, layer by layer. A factored layer: an exponent e, an `i8`; r scales s_k, little-endian `u16` below
//! 2^14; P row by row, an `i8` a number; Q' row by row likewise. A difference is sum_k P_ik Q'_jk s_k times
//! 2^e, rounded to the nearest integer. Any other layer: its scale, a little-endian `u32`, and an `i8` a
//! parameter. A layer is factored if that takes at most a quarter of its parameters in bytes
//! and it has 1,024 of them at least. For 784-50-10 `rank-4` takes 3,917 bytes.
//!
//! Memory beside the change and the bytes written: 4 r (m + n) bytes of the largest factored layer
//! (13,344 bytes with rank 4, 784-50-10), and 2.6 KB of stack. All sums fit 32 bits: P is exact, and
//! differences lose low bits before the second sum only where they have more than 13 or so.

use super::super::clip::Clip;
use super::change::{Change, DIFFERENCE_MAX, LayerSize, Layers, MOST_LAYERS, STRETCH, Shortened};
use super::plain::{Width, write_layer};
use super::scale::{Scaling, checked, difference};
use super::{CodeError, Draw, blocks, orthogonal};
use crate::mlp::descent::Factor;
use crate::mlp::kernel::{self, TILE};
use crate::rng::Rng;

/// The least number of parameters of a factored layer.
const LEAST_PARAMETERS: usize = 1024;
/// Bits of a column's scale.
const SCALE_BITS: u32 = 14;
/// Exponents that an encoder writes.
const EXPONENTS: core::ops::RangeInclusive<i8> = -48..=24;
/// Signs of a column, as many as a sum of stretches is divided into.
const GROUP: usize = 4;

/// The number of columns of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs)]
pub enum Rank {
    One,
    Two,
    Four,
    Eight,
}

/// How a layer travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Factors,
    Plain,
}

impl Rank {
    /// Returns the number of columns.
    #[must_use]
    pub const fn columns(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    const fn form(self, size: LayerSize) -> Form {
        let factors = self.columns() * (size.rows + size.columns);
        if size.parameters() >= LEAST_PARAMETERS && 4 * factors <= size.parameters() {
            Form::Factors
        } else {
            Form::Plain
        }
    }

    const fn bytes_of(self, size: LayerSize) -> usize {
        match self.form(size) {
            Form::Factors => 1 + self.columns() * (2 + size.rows + size.columns),
            Form::Plain => 4 + size.parameters(),
        }
    }

    /// Returns the bytes of a coded model of these layers.
    pub(super) fn coded_bytes(self, layers: &impl Layers) -> usize {
        let of_layer = |layer| self.bytes_of(layers.size(layer));
        (0..layers.count()).map(of_layer).sum()
    }

    /// Returns the words of memory for the largest factored layer.
    pub(super) fn work_words(self, layers: &impl Layers) -> usize {
        let sizes = (0..layers.count()).map(|layer| layers.size(layer));
        let factored = sizes.filter(|&size| self.form(size) == Form::Factors);
        let words = factored.map(|size| self.columns() * (size.rows + size.columns));
        words.max().unwrap_or(0)
    }

    /// Writes a change into `out`, with memory; both have the right length.
    pub(super) fn encode(
        self,
        change: &impl Change,
        clip: Clip,
        draw: Draw,
        work: &mut [i32],
        out: &mut [u8],
    ) -> usize {
        let (bytes, change) = (out.len(), Shortened::to(change, clip));
        let (mut rng, mut rest) = (draw.rounding(), out);
        for layer in 0..change.count() {
            let size = change.size(layer);
            let (of_layer, others) = rest.split_at_mut(self.bytes_of(size));
            rest = others;
            if self.form(size) == Form::Plain {
                let scaling = Scaling::new(change.largest(layer), Width::Byte.limit() as u32, None);
                let codes = blocks::write(of_layer, &scaling.scale.to_le_bytes());
                write_layer(&change, layer, (Width::Byte, &scaling), &mut rng, codes);
                continue;
            }
            let sketch = draw.sketch(layer);
            match self {
                Self::One => factor::<1>(&change, layer, sketch, work, of_layer),
                Self::Two => factor::<2>(&change, layer, sketch, work, of_layer),
                Self::Four => factor::<4>(&change, layer, sketch, work, of_layer),
                Self::Eight => factor::<8>(&change, layer, sketch, work, of_layer),
            }
        }
        bytes
    }
}

/// Writes the factors of a layer.
fn factor<const R: usize>(
    change: &impl Change,
    layer: usize,
    sketch: Rng,
    work: &mut [i32],
    out: &mut [u8],
) {
    let size = change.size(layer);
    let (p, rest) = work.split_at_mut(R * size.rows);
    let (p, sums) = (p.as_chunks_mut::<R>().0, &mut rest[..R * size.columns]);
    let (header, codes) = out.split_at_mut(1 + 2 * R);
    let (p_codes, q_codes) = codes.split_at_mut(R * size.rows);
    let p_codes = p_codes.as_chunks_mut::<R>().0;
    let q_codes = q_codes.as_chunks_mut::<R>().0;
    let seen = project(change, layer, sketch, sums, p);
    let squares = orthogonal::orthogonalise(p, p_codes);
    let sums = sums.as_chunks_mut::<R>().0;
    // Below 2^31: at most 127 rows times the largest difference.
    let lost = (seen + bits_of(size.rows) + 7).saturating_sub(31);
    correlate(change, layer, lost, p_codes, sums);
    let (exponent, scales) = scale_columns(sums, &squares, lost, q_codes);
    let header = blocks::write(header, &exponent.to_le_bytes());
    for (out, scale) in header.as_chunks_mut::<2>().0.iter_mut().zip(scales) {
        *out = scale.to_le_bytes();
    }
}

/// Returns the bits of a number.
const fn bits_of(number: usize) -> u32 {
    usize::BITS - number.leading_zeros()
}

/// Writes P = G Q and returns the bits of the largest difference. A random word a column of G is the
/// column's signs: bit k says whether it is subtracted from column k of P. Differences with the same signs
/// in [`GROUP`] columns are added up first, so that each is added once.
fn project<const R: usize>(
    change: &impl Change,
    layer: usize,
    mut sketch: Rng,
    signs: &mut [i32],
    p: &mut [[i32; R]],
) -> u32 {
    let columns = change.size(layer).columns;
    let lost = (change.bits(layer) + bits_of(columns)).saturating_sub(30);
    let signs = &mut signs[..columns];
    signs.fill_with(|| (sketch.next_u32() & 0xFF) as i32);
    let (mut seen, mut numbers) = (0, [0; STRETCH]);
    for (row, p) in p.iter_mut().enumerate() {
        *p = [0; R];
        for (signs, first) in signs.chunks(STRETCH).zip((0..).step_by(STRETCH)) {
            let numbers = &mut numbers[..signs.len()];
            change.read(layer, row, first, numbers, |number| number);
            for (group, p) in p.chunks_mut(GROUP).enumerate() {
                seen |= add_signed(numbers, signs, (GROUP * group, lost), p);
            }
        }
    }
    u32::BITS - (seen as u32).leading_zeros()
}

/// Adds numbers, shifted, to sums with the signs in the bits from `bit` on; returns the bits that any of
/// their magnitudes has, or one less.
#[inline(always)]
fn add_signed(numbers: &[i32], signs: &[i32], (bit, lost): (usize, u32), sums: &mut [i32]) -> i32 {
    let (mut alike, mut seen) = ([0i32; 1 << GROUP], 0);
    for (&number, &signs) in numbers.iter().zip(signs) {
        let signs = (signs >> bit) as usize % alike.len();
        alike[signs] += number >> lost;
        seen |= number ^ (number >> 31);
    }
    if seen == 0 && numbers.iter().all(|&number| number == 0) {
        return 0;
    }
    // The upper half differs from the lower one in the topmost sign; added to it, it differs no more. A
    // difference fits 31 bits, whatever its parts.
    let mut upper = &mut alike[..];
    for k in (0..GROUP).rev() {
        let (low, high) = upper.split_at_mut(1 << k);
        let mut sum = 0i32;
        for (low, &mut high) in low.iter_mut().zip(high) {
            sum = sum.wrapping_add(low.wrapping_sub(high));
            *low = low.wrapping_add(high);
        }
        if let Some(out) = sums.get_mut(k) {
            *out = out.wrapping_add(sum);
        }
        upper = low;
    }
    seen
}

/// Writes Q' = G^T P to `sums`, of differences without their `lost` lowest bits.
fn correlate<const R: usize>(
    change: &impl Change,
    layer: usize,
    lost: u32,
    p: &[[u8; R]],
    sums: &mut [[i32; R]],
) {
    sums.fill([0; R]);
    let mut tile = Tile::new();
    for (row, p) in p.iter().enumerate() {
        // Rows that are zero in P add nothing.
        if *p != [0; R] {
            tile.rows[tile.count] = row;
            tile.p[tile.count] = p.map(|code| i32::from(code as i8));
            tile.count += 1;
            if tile.count == TILE {
                tile.add(change, layer, lost, sums);
            }
        }
    }
    tile.add(change, layer, lost, sums);
}

/// Rows that are added to the sums together.
struct Tile<const R: usize> {
    rows: [usize; TILE],
    p: [[i32; R]; TILE],
    count: usize,
}

impl<const R: usize> Tile<R> {
    const fn new() -> Self {
        Self {
            rows: [0; TILE],
            p: [[0; R]; TILE],
            count: 0,
        }
    }

    /// Adds the rows to the sums and empties the tile.
    fn add(&mut self, change: &impl Change, layer: usize, lost: u32, sums: &mut [[i32; R]]) {
        let (half, mut numbers) = ((1 << lost) >> 1, [0; STRETCH]);
        let mut columns = [[0; TILE]; STRETCH];
        for (sums, first) in sums.chunks_mut(STRETCH).zip((0..).step_by(STRETCH)) {
            let numbers = &mut numbers[..sums.len()];
            for (at, &row) in self.rows[..self.count].iter().enumerate() {
                change.read(layer, row, first, numbers, |number| (number + half) >> lost);
                for (column, &number) in columns.iter_mut().zip(&*numbers) {
                    column[at] = number;
                }
            }
            kernel::add_products(&columns[..sums.len()], &self.p, sums);
        }
        // What is left of these rows in `columns` meets zeros.
        self.p = [[0; R]; TILE];
        self.count = 0;
    }
}

/// Writes the codes of Q' and returns the exponent and the scales: G is about sum_k P_k Q'_k / |P_k|^2.
fn scale_columns<const R: usize>(
    sums: &[[i32; R]],
    squares: &[u32; R],
    lost: u32,
    codes: &mut [[u8; R]],
) -> (i8, [u16; R]) {
    /// Fractional bits of the ratios.
    const FRACTION: i32 = 32;
    let largest: [u32; R] = core::array::from_fn(|k| {
        let magnitudes = sums.iter().map(|sums| sums[k].unsigned_abs());
        magnitudes.max().unwrap_or(0)
    });
    // What one unit of the product of two codes is worth.
    let ratios: [u64; R] = core::array::from_fn(|k| match squares[k] {
        0 => 0,
        square => (u64::from(largest[k]) << FRACTION) / (127 * u64::from(square)),
    });
    let top = ratios.iter().fold(0, |top, &ratio| top | ratio);
    if top == 0 {
        codes.fill([0; R]);
        return (0, [0; R]);
    }
    let mut shift = (u64::BITS - top.leading_zeros()) as i32 - SCALE_BITS as i32;
    let scale = |ratio: u64, shift: i32| match shift {
        ..0 => ratio << -shift,
        _ => ratio.div_ceil(1 << shift),
    };
    if ratios
        .iter()
        .any(|&ratio| scale(ratio, shift) >> SCALE_BITS != 0)
    {
        shift += 1;
    }
    let scales = ratios.map(|ratio| scale(ratio, shift) as u16);
    let factors: [Factor; R] = core::array::from_fn(|k| {
        let (top, bottom) = (1u64 << (FRACTION - shift).max(0), u64::from(squares[k]));
        let bottom = (bottom * u64::from(scales[k])) << (shift - FRACTION).max(0);
        // A factor has a bottom below 2^46.
        let excess = (u64::BITS - 46).saturating_sub(bottom.leading_zeros());
        Factor::ratio(top >> excess, bottom >> excess)
    });
    for (codes, sums) in codes.iter_mut().zip(sums) {
        *codes = core::array::from_fn(|k| {
            let code = factors[k].wide_step(sums[k].into(), 1 << 15);
            code.clamp(-127, 127) as u8
        });
    }
    ((lost as i32 + shift - FRACTION) as i8, scales)
}

/// Coded layers whose form was checked.
#[derive(Clone, Copy, Debug)]
pub struct LowRank<'a, L> {
    sizes: L,
    rank: Rank,
    /// Place of each layer's first byte.
    starts: [usize; MOST_LAYERS],
    bytes: &'a [u8],
}

impl<'a, L: Layers> LowRank<'a, L> {
    /// Checks the scales of a coded model, whose length is right.
    pub(super) fn parse(sizes: L, rank: Rank, bytes: &'a [u8]) -> Result<Self, CodeError> {
        let (mut starts, mut start) = ([0; MOST_LAYERS], 0);
        for (layer, place) in starts.iter_mut().enumerate().take(sizes.count()) {
            let size = sizes.size(layer);
            let of_layer = &bytes[start..];
            match rank.form(size) {
                Form::Plain => {
                    let scale = of_layer.first_chunk().copied().unwrap_or_default();
                    let limit = Width::Byte.limit() as u32;
                    checked(layer, u32::from_le_bytes(scale), limit)?;
                }
                Form::Factors => {
                    let (exponent, scales) = header(of_layer, rank.columns());
                    if !EXPONENTS.contains(&exponent) {
                        let scale = exponent as u32;
                        return Err(CodeError::Scale { layer, scale });
                    }
                    if let Some(scale) = scales.max().filter(|scale| scale >> SCALE_BITS != 0) {
                        return Err(CodeError::Scale { layer, scale });
                    }
                }
            }
            *place = start;
            start += rank.bytes_of(size);
        }
        Ok(Self {
            sizes,
            rank,
            starts,
            bytes,
        })
    }

    /// Reads a factored layer's differences.
    fn read_product<const R: usize>(
        &self,
        layer: usize,
        (row, first): (usize, usize),
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        let (size, bytes) = (self.sizes.size(layer), &self.bytes[self.starts[layer]..]);
        let (exponent, mut scales) = header(bytes, R);
        let (p, q) = bytes[1 + 2 * R..].split_at(R * size.rows);
        let (p, q) = (p.as_chunks::<R>().0, &q.as_chunks::<R>().0[first..]);
        // At most 2^7 * 2^14; eight of them times 2^7 stay below 2^31.
        let p = p[row].map(|code| i32::from(code as i8) * scales.next().unwrap_or(0) as i32);
        let product = |q: &[u8; R]| {
            let pairs = p.iter().zip(q);
            pairs.fold(0i32, |sum, (p, &q)| sum + p * i32::from(q as i8))
        };
        let exponent = i32::from(exponent);
        if (-31..0).contains(&exponent) {
            for (out, q) in out.iter_mut().zip(q) {
                *out = convert(((product(q) >> (-exponent - 1)) + 1) >> 1);
            }
        } else {
            let limit = i64::from(DIFFERENCE_MAX);
            for (out, q) in out.iter_mut().zip(q) {
                // Below 2^31 over 2^32 is nearest to zero.
                let number = i64::from(product(q)) << exponent.max(0);
                let number = if exponent < 0 { 0 } else { number };
                *out = convert(number.clamp(-limit, limit) as i32);
            }
        }
    }
}

/// Returns the exponent and the scales of a factored layer.
fn header(bytes: &[u8], columns: usize) -> (i8, impl Iterator<Item = u32>) {
    let (exponent, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let scales = rest.as_chunks::<2>().0.iter().take(columns);
    let scales = scales.map(|scale| u16::from_le_bytes(*scale).into());
    (*exponent as i8, scales)
}

impl<L: Layers> Layers for LowRank<'_, L> {
    #[inline]
    fn count(&self) -> usize {
        self.sizes.count()
    }

    #[inline]
    fn size(&self, layer: usize) -> LayerSize {
        self.sizes.size(layer)
    }
}

impl<L: Layers> Change for LowRank<'_, L> {
    super::decoded!();

    fn read(
        &self,
        layer: usize,
        row: usize,
        first: usize,
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        let size = self.sizes.size(layer);
        match (self.rank.form(size), self.rank) {
            (Form::Factors, Rank::One) => {
                self.read_product::<1>(layer, (row, first), out, convert);
            }
            (Form::Factors, Rank::Two) => {
                self.read_product::<2>(layer, (row, first), out, convert);
            }
            (Form::Factors, Rank::Four) => {
                self.read_product::<4>(layer, (row, first), out, convert);
            }
            (Form::Factors, Rank::Eight) => {
                self.read_product::<8>(layer, (row, first), out, convert);
            }
            (Form::Plain, _) => {
                let bytes = &self.bytes[self.starts[layer]..];
                let (scale, codes) = bytes.split_first_chunk().unwrap_or((&[0; 4], &[]));
                let scale = u32::from_le_bytes(*scale);
                let codes = &codes[row * size.columns + first..];
                for (out, &code) in out.iter_mut().zip(codes) {
                    *out = convert(difference((code as i8).into(), scale));
                }
            }
        }
    }
}
