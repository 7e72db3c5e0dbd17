//! Sums of scaled rows over sparse lists: both passes of the perceptron's first layer.
#![allow(unsafe_code)]

use super::dispatch::dispatch;
use super::lanes::Lanes;
use super::select::Kernel;

/// The lanes of a row: the hidden layer, padded.
pub(in crate::train) const ROW: usize = 64;

/// Lists of (row, code) pairs, each of even length; a code stands for a number in a table.
#[derive(Clone, Debug, Default)]
pub(in crate::train) struct Lists {
    /// List i is `entries[starts[i]..starts[i + 1]]`.
    pub starts: Vec<u32>,
    /// Row and code.
    pub entries: Vec<[u8; 2]>,
}

impl Lists {
    /// Starts without a list.
    pub(in crate::train) fn new() -> Self {
        Self {
            starts: vec![0],
            entries: Vec::new(),
        }
    }

    /// Appends the non-zero codes of a list; code 0 stands for zero, and pads odd lengths.
    pub(in crate::train) fn push(&mut self, codes: impl Iterator<Item = u8>) {
        let first = self.entries.len();
        for (row, code) in codes.enumerate().filter(|&(_, code)| code != 0) {
            self.entries.push([row as u8, code]);
        }
        if (self.entries.len() - first) % 2 == 1 {
            self.entries.push([0, 0]);
        }
        self.starts.push(self.entries.len() as u32);
    }
}

/// Adds to each row of `out` the rows that its list names:
/// out_i += sum over (r, c) in list `first` + i of table_c rows_r.
///
/// Entries at even places and entries at odd places are summed apart, the even sum starting
/// from `out`, and then added.
///
/// # Panics
/// When a list names a row beyond `rows`, or `out` has more rows than there are lists.
pub(in crate::train) fn add_rows(
    kernel: Kernel,
    lists: &Lists,
    first: usize,
    table: &[f32; 256],
    rows: &[f32],
    out: &mut [f32],
) {
    let count = out.len() / ROW;
    let starts = &lists.starts[first..=first + count];
    let entries: &[[u8; 2]] = &lists.entries;
    dispatch!(kernel, sum, (
        starts: &[u32], entries: &[[u8; 2]], table: &[f32; 256], rows: &[f32], out: &mut [f32],
    ));
}

/// Vectors a strip of the row keeps in registers, twice.
const VECTORS: usize = 4;

/// # Safety
/// The processor must have the instructions of `V`.
#[inline(always)]
unsafe fn sum<V: Lanes>(
    starts: &[u32],
    entries: &[[u8; 2]],
    table: &[f32; 256],
    rows: &[f32],
    out: &mut [f32],
) {
    let strip = VECTORS * V::WIDTH;
    let rows = rows.as_chunks::<ROW>().0;
    for (bounds, out) in starts.windows(2).zip(out.as_chunks_mut::<ROW>().0) {
        let pairs = entries[bounds[0] as usize..bounds[1] as usize]
            .as_chunks::<2>()
            .0;
        if pairs.is_empty() {
            continue;
        }
        for offset in (0..ROW).step_by(strip) {
            // SAFETY: `offset + strip` never exceeds ROW (64 is a multiple of every strip), and
            // `out` and every row have ROW values; rows are found by a checked index.
            unsafe {
                let target = out.as_mut_ptr().add(offset);
                let mut even = [V::splat(0.0); VECTORS];
                let mut odd = even;
                for (at, vector) in even.iter_mut().enumerate() {
                    *vector = V::load(target.add(at * V::WIDTH));
                }
                for &[[a, a_code], [b, b_code]] in pairs {
                    // One load of four bytes; the compiler would make it four.
                    let word = u32::from_le_bytes([a, a_code, b, b_code]);
                    let byte = |number: u32| (word >> (8 * number) & 0xFF) as usize;
                    let (a_row, b_row) = (&rows[byte(0)], &rows[byte(2)]);
                    let a_factor = V::splat(table[byte(1)]);
                    let b_factor = V::splat(table[byte(3)]);
                    for at in 0..VECTORS {
                        let lane = offset + at * V::WIDTH;
                        even[at] =
                            V::load(a_row.as_ptr().add(lane)).multiply_add(a_factor, even[at]);
                        odd[at] = V::load(b_row.as_ptr().add(lane)).multiply_add(b_factor, odd[at]);
                    }
                }
                for at in 0..VECTORS {
                    even[at].add(odd[at]).store(target.add(at * V::WIDTH));
                }
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
        codes
            .iter()
            .for_each(|list| lists.push(list.iter().copied()));
        let of = |kernel| {
            let mut out = start.clone();
            add_rows(kernel, &lists, 0, &table, &rows, &mut out);
            out
        };
        let portable = of(Kernel::PORTABLE);
        for kernel in Kernel::available() {
            assert_eq!(of(kernel), portable, "{kernel}");
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
