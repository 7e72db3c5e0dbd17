//! Sums of scaled rows over sparse lists: both passes of the perceptron's first layer.
#![allow(unsafe_code)]

use super::lanes::{Halved, Lanes};
use super::select::{Kernel, dispatch};

/// Lanes of a row: the hidden layer, padded.
pub(in crate::train) const ROW: usize = 64;

/// Number of rows that entries can name.
const ROWS: usize = 256;
/// Codes that are looked at together.
const GROUP: usize = 8;

/// Lists of (row, code) entries, each of even length; a code stands for a number in a table.
#[derive(Clone, Debug)]
pub(in crate::train) struct Lists {
    /// List i is `words[starts[i]..starts[i + 1]]`.
    pub starts: Vec<u32>,
    /// Two entries each: from the lowest byte on, row, code, row, code. Two more follow the last list.
    pub words: Vec<u32>,
}

impl Lists {
    /// Starts without a list.
    pub(in crate::train) fn new() -> Self {
        Self {
            starts: vec![0],
            words: vec![0; 2],
        }
    }

    /// Appends the non-zero codes of a list; code 0 stands for zero, and pads odd lengths.
    pub(in crate::train) fn push(&mut self, codes: &[u8]) {
        // Each code is written and overwritten by the next if zero: a branch would be mispredicted
        // too often.
        let mut out = [[0, 0]; ROWS + 2];
        let mut kept = 0;
        for (group, codes) in codes.chunks(GROUP).enumerate() {
            // Most of an image is blank.
            if codes == &[0; GROUP][..codes.len()] {
                continue;
            }
            for (at, &code) in codes.iter().enumerate() {
                out[kept] = [(group * GROUP + at) as u8, code];
                kept += usize::from(code != 0);
            }
        }
        out[kept] = [0, 0];
        self.words.truncate(self.words.len() - 2);
        let pairs = &out.as_chunks::<2>().0[..kept.div_ceil(2)];
        self.words.extend(pairs.iter().map(word));
        self.starts.push(self.words.len() as u32);
        self.words.extend([0; 2]);
    }

    /// Returns the (row, code) entries of a list, without the padding.
    pub(in crate::train) fn list(&self, at: usize) -> impl Iterator<Item = (usize, u8)> {
        let bounds = self.starts[at] as usize..self.starts[at + 1] as usize;
        let entries = self.words[bounds].iter().flat_map(|word| {
            let [a, a_code, b, b_code] = word.to_le_bytes();
            [(usize::from(a), a_code), (usize::from(b), b_code)]
        });
        entries.filter(|(_, code)| *code != 0)
    }
}

/// Joins two list entries to one word.
pub(in crate::train) fn word(&[[a, a_code], [b, b_code]]: &[[u8; 2]; 2]) -> u32 {
    u32::from_le_bytes([a, a_code, b, b_code])
}

/// Adds to the first `used` lanes of each row of `out` those of the rows that its list names:
/// out_i += sum over (r, c) in list `first` + i of table_c rows_r.
///
/// Entries at even places and entries at odd places are summed apart, the even sum starting
/// from `out`, and then added. Lanes beyond the used ones may be summed too, or left alone.
///
/// # Panics
/// When a list names a row beyond `rows`, or `out` has more rows than there are lists.
pub(in crate::train) fn add_rows(kernel: Kernel, sum: RowSum, rows: &[f32], out: &mut [f32]) {
    let count = out.len() / ROW;
    let starts = &sum.lists.starts[sum.first..=sum.first + count];
    dispatch!(kernel, all, (sum: RowSum, starts: &[u32], rows: &[f32], out: &mut [f32]));
}

/// The lists to sum, the values of their codes, and the number of lanes used.
#[derive(Clone, Copy)]
pub(in crate::train) struct RowSum<'a> {
    pub lists: &'a Lists,
    /// The list of the first row.
    pub first: usize,
    /// The value of every code.
    pub table: &'a [f32; 256],
    /// Lanes of a row that matter.
    pub used: usize,
}

/// # Safety
/// The processor must have the instructions of `V`.
#[inline(always)]
unsafe fn all<V: Halved>(sum: RowSum, starts: &[u32], rows: &[f32], out: &mut [f32]) {
    let half = V::WIDTH / 2;
    let rows = rows.as_chunks::<ROW>().0;
    let out = out.as_chunks_mut::<ROW>().0;
    // SAFETY: the strips cover no more than the ROW lanes: 64, or the fewer that the paper's 50
    // units leave, 56 in wide vectors and 52 in narrow ones.
    unsafe {
        match V::WIDTH {
            16 if sum.used <= ROW - half => strip::<V, 3, 1>(sum, starts, rows, out, 0),
            16 => strip::<V, 4, 0>(sum, starts, rows, out, 0),
            _ => {
                strip::<V, 4, 0>(sum, starts, rows, out, 0);
                if sum.used <= ROW - 3 * half {
                    strip::<V, 2, 1>(sum, starts, rows, out, 32);
                } else {
                    strip::<V, 4, 0>(sum, starts, rows, out, 32);
                }
            }
        }
    }
}

/// Sums a strip of `N` vectors and `H` half ones of every row, from `offset` on.
///
/// # Safety
/// The processor must have the instructions of `V`, and the strip must end within a row.
#[inline(always)]
unsafe fn strip<V: Halved, const N: usize, const H: usize>(
    sum: RowSum,
    starts: &[u32],
    rows: &[[f32; ROW]],
    out: &mut [[f32; ROW]],
    offset: usize,
) {
    let words = &*sum.lists.words;
    let first = starts[0] as usize;
    // A pair is read two pairs before it is added, across lists too: addresses that are known early
    // keep both load units busy.
    let (mut word, mut next) = (words[first], words[first + 1]);
    for (bounds, out) in starts.windows(2).zip(out) {
        let (start, end) = (bounds[0] as usize, bounds[1] as usize);
        if start == end {
            continue;
        }
        // SAFETY: the caller vouches for processor and strip.
        unsafe {
            let mut sums = Sums::<V, N, H>::load(out, offset);
            for after in &words[start + 2..end + 2] {
                // Volatile: the compiler would move the load to where the pair is added.
                let after = std::ptr::from_ref(after).read_volatile();
                sums.add(word, sum.table, rows, offset);
                (word, next) = (next, after);
            }
            sums.store(out, offset);
        }
    }
}

/// The sums of a strip, kept in registers: over entries at even places and over those at odd places.
struct Sums<V: Halved, const N: usize, const H: usize> {
    even: [V; N],
    odd: [V; N],
    even_tail: [V::Half; H],
    odd_tail: [V::Half; H],
}

impl<V: Halved, const N: usize, const H: usize> Sums<V, N, H> {
    /// # Safety
    /// As for [`strip`]; so for every function below.
    #[inline(always)]
    unsafe fn load(out: &[f32; ROW], offset: usize) -> Self {
        let tail = offset + N * V::WIDTH;
        // SAFETY: the strip lies in the row.
        unsafe {
            let from = out.as_ptr();
            let mut even = [V::splat(0.0); N];
            let mut even_tail = [V::Half::splat(0.0); H];
            let (odd, odd_tail) = (even, even_tail);
            for (at, vector) in even.iter_mut().enumerate() {
                *vector = V::load(from.add(offset + at * V::WIDTH));
            }
            for vector in &mut even_tail {
                *vector = V::Half::load(from.add(tail));
            }
            Self {
                even,
                odd,
                even_tail,
                odd_tail,
            }
        }
    }

    /// Adds the two rows that a pair names.
    #[inline(always)]
    unsafe fn add(&mut self, word: u32, table: &[f32; 256], rows: &[[f32; ROW]], offset: usize) {
        let tail = offset + N * V::WIDTH;
        let byte = |number: u32| (word >> (8 * number) & 0xFF) as usize;
        let (a_row, b_row) = (rows[byte(0)].as_ptr(), rows[byte(2)].as_ptr());
        let (a, b) = (table[byte(1)], table[byte(3)]);
        // SAFETY: the strip lies in the rows.
        unsafe {
            let (a_factor, b_factor) = (V::splat(a), V::splat(b));
            for at in 0..N {
                let lane = offset + at * V::WIDTH;
                self.even[at] = V::load(a_row.add(lane)).multiply_add(a_factor, self.even[at]);
                self.odd[at] = V::load(b_row.add(lane)).multiply_add(b_factor, self.odd[at]);
            }
            for at in 0..H {
                let (a_factor, b_factor) = (V::Half::splat(a), V::Half::splat(b));
                self.even_tail[at] =
                    V::Half::load(a_row.add(tail)).multiply_add(a_factor, self.even_tail[at]);
                self.odd_tail[at] =
                    V::Half::load(b_row.add(tail)).multiply_add(b_factor, self.odd_tail[at]);
            }
        }
    }

    /// Joins both sums.
    #[inline(always)]
    unsafe fn store(self, out: &mut [f32; ROW], offset: usize) {
        let tail = offset + N * V::WIDTH;
        // SAFETY: the strip lies in the row.
        unsafe {
            let target = out.as_mut_ptr();
            for at in 0..N {
                let sum = self.even[at].add(self.odd[at]);
                sum.store(target.add(offset + at * V::WIDTH));
            }
            for at in 0..H {
                let sum = self.even_tail[at].add(self.odd_tail[at]);
                sum.store(target.add(tail));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_adds_the_same_bits_and_the_right_rows() {
        let mut rng =
            gleaner_shared::rng::Rng::stream(1, gleaner_shared::rng::Purpose::Synthetic, 0, 0);
        let mut uniform = || rng.uniform() as f32 - 0.5;
        let rows: Vec<f32> = (0..20 * ROW).map(|_| uniform()).collect();
        let start: Vec<f32> = (0..3 * ROW).map(|_| uniform()).collect();
        let table: [f32; 256] = std::array::from_fn(|code| code as f32 / 255.0);
        let codes: [Vec<u8>; 3] = [
            (0..20).map(|row| row * 11).collect(),
            vec![0; 20],
            (0..20)
                .map(|row| if row % 3 == 0 { 255 - row } else { 0 })
                .collect(),
        ];
        let mut lists = Lists::new();
        codes.iter().for_each(|list| lists.push(list));
        let of = |kernel, used| {
            let sum = RowSum {
                lists: &lists,
                first: 0,
                table: &table,
                used,
            };
            let mut out = start.clone();
            add_rows(kernel, sum, &rows, &mut out);
            out
        };
        let portable = of(Kernel::PORTABLE, ROW);
        for used in 1..=ROW {
            for kernel in Kernel::available() {
                let few = of(kernel, used);
                let same = |at| few[at] == portable[at];
                assert!(
                    (0..few.len()).filter(|at| at % ROW < used).all(same),
                    "{kernel} {used}"
                );
            }
        }
        for (at, value) in portable.iter().enumerate() {
            let (list, lane) = (at / ROW, at % ROW);
            let exact: f64 = (0..20)
                .map(|row| {
                    f64::from(table[usize::from(codes[list][row])])
                        * f64::from(rows[row * ROW + lane])
                })
                .sum::<f64>()
                + f64::from(start[at]);
            assert!((f64::from(*value) - exact).abs() < 1e-5);
        }
    }
}
