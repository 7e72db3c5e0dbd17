//! Matrix products: the left factor is read value by value, the right one row by row.
//!
//! The left factor may be a plain matrix, a transposed one, or the windows of an image, so dense
//! layers and convolutions share this loop.
#![allow(unsafe_code)]

use super::lanes::Lanes;
use super::select::{Kernel, dispatch};

/// The left factor: entry (m, k) lies at m `row` + (k / `run`) `jump` + (k mod `run`) `step`.
///
/// A matrix has one run; a window of an image has one run per image row it covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left<'a> {
    pub data: &'a [f32],
    /// Distance between rows m.
    pub row: usize,
    pub runs: usize,
    /// Entries in a run.
    pub run: usize,
    /// Distance between two runs.
    pub jump: usize,
    /// Distance between the entries of a run.
    pub step: usize,
}

impl<'a> Left<'a> {
    /// Describes a matrix of `depth` columns, stored in rows of `row` values.
    pub(crate) fn matrix(data: &'a [f32], row: usize, depth: usize) -> Self {
        Self {
            data,
            row,
            runs: 1,
            run: depth,
            jump: 0,
            step: 1,
        }
    }

    /// Describes the transpose of a matrix of `depth` rows, stored in rows of `row` values.
    pub(crate) fn transposed(data: &'a [f32], row: usize, depth: usize) -> Self {
        Self {
            data,
            row: 1,
            runs: 1,
            run: depth,
            jump: 0,
            step: row,
        }
    }
}

/// Adds the product of `left` (m x k) and `right` (k rows of `width` values) to the first m rows
/// of `out` (of `width` values each). Every entry is summed in the order of k.
///
/// # Panics
/// When `width` is not a multiple of 16 or a factor is too short.
pub(crate) fn multiply(
    kernel: Kernel,
    m: usize,
    left: Left,
    right: &[f32],
    out: &mut [f32],
    width: usize,
) {
    let depth = left.runs * left.run;
    if m == 0 || depth == 0 || width == 0 {
        return;
    }
    assert!(
        width.is_multiple_of(16),
        "width {width} is not a multiple of 16"
    );
    let last = (m - 1) * left.row + (left.runs - 1) * left.jump + (left.run - 1) * left.step;
    assert!(last < left.data.len(), "the left factor is too short");
    assert!(
        depth * width <= right.len(),
        "the right factor is too short"
    );
    assert!(m * width <= out.len(), "the product is too short");
    let product = Product {
        m,
        left,
        right,
        width,
    };
    dispatch!(kernel, whole, (product: Product, out: &mut [f32]));
}

#[derive(Clone, Copy)]
struct Product<'a> {
    m: usize,
    left: Left<'a>,
    right: &'a [f32],
    width: usize,
}

/// # Safety
/// The processor must have the instructions of `V`, and the lengths must be those that
/// [`multiply`] checks; so for every function below.
#[inline(always)]
unsafe fn whole<V: Lanes>(product: Product, out: &mut [f32]) {
    let mut column = 0;
    while column < product.width {
        // SAFETY: the strip lies inside the width.
        unsafe {
            if product.width - column >= 2 * V::WIDTH {
                strip::<V, 2>(product, column, out);
                column += 2 * V::WIDTH;
            } else {
                strip::<V, 1>(product, column, out);
                column += V::WIDTH;
            }
        }
    }
}

/// One strip of `N` vectors, cut into tiles of nearly equal height.
#[inline(always)]
unsafe fn strip<V: Lanes, const N: usize>(product: Product, column: usize, out: &mut [f32]) {
    let tiles = product.m.div_ceil(V::PRODUCT_ROWS);
    for number in 0..tiles {
        let top = product.m * number / tiles;
        let height = product.m * (number + 1) / tiles - top;
        // SAFETY: the tile lies inside the product.
        unsafe {
            match height {
                1 => tile::<V, 1, N>(product, top, column, out),
                2 => tile::<V, 2, N>(product, top, column, out),
                3 => tile::<V, 3, N>(product, top, column, out),
                4 => tile::<V, 4, N>(product, top, column, out),
                5 => tile::<V, 5, N>(product, top, column, out),
                6 => tile::<V, 6, N>(product, top, column, out),
                7 => tile::<V, 7, N>(product, top, column, out),
                8 => tile::<V, 8, N>(product, top, column, out),
                _ => tile::<V, 9, N>(product, top, column, out),
            }
        }
    }
}

/// One tile of `M` rows and `N` vectors, kept in registers over all of k.
#[inline(always)]
unsafe fn tile<V: Lanes, const M: usize, const N: usize>(
    product: Product,
    top: usize,
    column: usize,
    out: &mut [f32],
) {
    let Product {
        left, right, width, ..
    } = product;
    // SAFETY: `multiply` has checked that the last entries of all three matrices exist, and
    // every address below is at most theirs.
    unsafe {
        let target = out.as_mut_ptr().add(top * width + column);
        let mut sums = [[V::splat(0.0); N]; M];
        for (m, row) in sums.iter_mut().enumerate() {
            for (n, sum) in row.iter_mut().enumerate() {
                *sum = V::load(target.add(m * width + n * V::WIDTH));
            }
        }
        let mut from = right.as_ptr().add(column);
        let corner = left.data.as_ptr().add(top * left.row);
        for run in 0..left.runs {
            let start = corner.add(run * left.jump);
            // Every third row has a pointer, the two after it are reached by scaled indices:
            // the loop then spends nothing on addresses.
            let mut thirds = [start; 3];
            for (number, pointer) in thirds.iter_mut().enumerate() {
                *pointer = start.wrapping_add(3 * number * left.row);
            }
            for _ in 0..left.run {
                let mut vectors = [V::splat(0.0); N];
                for (n, vector) in vectors.iter_mut().enumerate() {
                    *vector = V::load(from.add(n * V::WIDTH));
                }
                from = from.wrapping_add(width);
                for (m, row) in sums.iter_mut().enumerate() {
                    let value = V::splat(*thirds[m / 3].add(m % 3 * left.row));
                    for (n, sum) in row.iter_mut().enumerate() {
                        *sum = vectors[n].multiply_add(value, *sum);
                    }
                }
                for pointer in &mut thirds {
                    *pointer = pointer.wrapping_add(left.step);
                }
            }
        }
        for (m, row) in sums.iter().enumerate() {
            for (n, sum) in row.iter().enumerate() {
                sum.store(target.add(m * width + n * V::WIDTH));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(count: usize, client: u32) -> Vec<f32> {
        let purpose = gleaner_shared::rng::Purpose::Synthetic;
        let mut rng = gleaner_shared::rng::Rng::stream(5, purpose, client, 0);
        (0..count).map(|_| rng.uniform() as f32 - 0.5).collect()
    }

    /// Compares every kernel with the definition, for one shape.
    fn check(m: usize, left: Left, width: usize) {
        let depth = left.runs * left.run;
        let right = noise(depth * width, 2);
        let start = noise(m * width, 3);
        let of = |kernel| {
            let mut out = start.clone();
            multiply(kernel, m, left, &right, &mut out, width);
            out
        };
        let portable = of(Kernel::PORTABLE);
        for kernel in Kernel::available() {
            assert_eq!(of(kernel), portable, "{kernel} {m} {width}");
        }
        for (at, value) in portable.iter().enumerate() {
            let (row, column) = (at / width, at % width);
            let exact: f64 = (0..depth)
                .map(|k| {
                    let (run, entry) = (k / left.run, k % left.run);
                    let place = row * left.row + run * left.jump + entry * left.step;
                    f64::from(left.data[place]) * f64::from(right[k * width + column])
                })
                .sum::<f64>()
                + f64::from(start[at]);
            assert!((f64::from(*value) - exact).abs() < 1e-4, "{value} {exact}");
        }
    }

    #[test]
    fn every_kernel_multiplies_alike_and_rightly_at_every_height() {
        let data = noise(5000, 1);
        for m in 1..=20 {
            check(m, Left::matrix(&data, 37, 33), 16);
            check(m, Left::transposed(&data, 41, 29), 48);
        }
    }

    #[test]
    fn windows_of_an_image_are_a_left_factor() {
        // Windows of 2 rows by 3 pixels by 4 channels in an image 10 pixels wide.
        let image = noise(400, 1);
        let windows = Left {
            data: &image,
            row: 4,
            runs: 2,
            run: 12,
            jump: 40,
            step: 1,
        };
        check(8, windows, 64);
    }
}
