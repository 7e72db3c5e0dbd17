//! Winograd's minimal filtering F(3, 5): three outputs of a filter with five taps take seven
//! products instead of fifteen (S. Winograd, "Arithmetic Complexity of Computations", 1980).
//!
//! Inputs and taps are polynomials whose values at seven points are multiplied, and the outputs are
//! recovered from the products. The points are ±1/4, ±1, ±2 and infinity: opposite points share their even
//! and odd parts, every coefficient is an exact `f32`, and of 29 sets tried on random images it
//! has nearly the smallest errors (the usual 0, ±1, ±1/2, 2 has 1.4 times as large ones). Taps are
//! transformed in double precision.
//!
//! An image is transformed in both directions, one after the other.
#![allow(unsafe_code)]

use super::lanes::Lanes;
use super::select::{Kernel, dispatch};

/// Outputs of a piece.
pub(in crate::train) const OUTPUTS: usize = 3;
/// Taps of the filter.
pub(in crate::train) const TAPS: usize = 5;
/// Inputs of a piece, and points at which products are taken.
pub(in crate::train) const POINTS: usize = OUTPUTS + TAPS - 1;
/// The point 1, whose product is part of every output with weight 1.
pub(in crate::train) const ONE: usize = 2;

/// The positive points of the three pairs.
const PAIRS: [f64; 3] = [0.25, 1.0, 2.0];

/// Evaluates filters at the points: `taps` holds `outer` groups of [`TAPS`] rows of `inner` values,
/// the result as many groups of [`POINTS`] rows.
pub(in crate::train) fn filters(taps: &[f64], inner: usize) -> Vec<f64> {
    let mut points = Vec::with_capacity(taps.len() / TAPS * POINTS);
    for group in taps.chunks_exact(TAPS * inner) {
        let row = |number: usize| &group[number * inner..(number + 1) * inner];
        for point in PAIRS {
            let square = point * point;
            let others = PAIRS.iter().filter(|&&other| other != point);
            let distances: f64 = others.map(|other| square - other * other).product();
            let scale = 1.0 / (2.0 * point * distances);
            for sign in [1.0, -1.0] {
                let value = |at: usize| {
                    let even = row(0)[at] + square * (row(2)[at] + square * row(4)[at]);
                    let odd = point * (row(1)[at] + square * row(3)[at]);
                    scale * (odd + sign * even)
                };
                points.extend((0..inner).map(value));
            }
        }
        points.extend_from_slice(row(TAPS - 1));
    }
    points
}

/// Evaluates inputs at the points: row i of `lanes` values lies at i `from_step` in `from`, and the
/// values at point p are written to p `to_step` in `to`.
///
/// # Panics
/// When `lanes` is not a multiple of 16 or a slice is too short.
pub(in crate::train) fn spread(
    kernel: Kernel,
    lanes: usize,
    from: &[f32],
    from_step: usize,
    to: &mut [f32],
    to_step: usize,
) {
    check(lanes, from.len(), POINTS, from_step);
    check(lanes, to.len(), POINTS, to_step);
    dispatch!(kernel, spread_all, (
        lanes: usize, from: &[f32], from_step: usize, to: &mut [f32], to_step: usize,
    ));
}

/// Recovers outputs from products: the product at point p lies at p `from_step` in `from`, and output
/// i is written to i `to_step` in `to`.
///
/// # Panics
/// As [`spread`].
pub(in crate::train) fn gather(
    kernel: Kernel,
    lanes: usize,
    from: &[f32],
    from_step: usize,
    to: &mut [f32],
    to_step: usize,
) {
    check(lanes, from.len(), POINTS, from_step);
    check(lanes, to.len(), OUTPUTS, to_step);
    dispatch!(kernel, gather_all, (
        lanes: usize, from: &[f32], from_step: usize, to: &mut [f32], to_step: usize,
    ));
}

fn check(lanes: usize, length: usize, rows: usize, step: usize) {
    assert!(
        lanes.is_multiple_of(16),
        "{lanes} lanes are not a multiple of 16"
    );
    assert!(
        (rows - 1) * step + lanes <= length,
        "rows reach beyond their slice"
    );
}

/// # Safety
/// The processor must have the instructions of `V`, and the lengths must be those that [`check`]
/// demands; so for every function below.
#[inline(always)]
unsafe fn spread_all<V: Lanes>(
    lanes: usize,
    from: &[f32],
    from_step: usize,
    to: &mut [f32],
    to_step: usize,
) {
    for lane in (0..lanes).step_by(V::WIDTH) {
        // SAFETY: `check` has checked the last row of both slices.
        unsafe {
            let mut inputs = [V::splat(0.0); POINTS];
            for (row, input) in inputs.iter_mut().enumerate() {
                *input = V::load(from.as_ptr().add(row * from_step + lane));
            }
            for (point, value) in at_points(inputs).into_iter().enumerate() {
                value.store(to.as_mut_ptr().add(point * to_step + lane));
            }
        }
    }
}

#[inline(always)]
unsafe fn gather_all<V: Lanes>(
    lanes: usize,
    from: &[f32],
    from_step: usize,
    to: &mut [f32],
    to_step: usize,
) {
    for lane in (0..lanes).step_by(V::WIDTH) {
        // SAFETY: as in `spread_all`.
        unsafe {
            let mut products = [V::splat(0.0); POINTS];
            for (point, product) in products.iter_mut().enumerate() {
                *product = V::load(from.as_ptr().add(point * from_step + lane));
            }
            for (row, output) in outputs(products).into_iter().enumerate() {
                output.store(to.as_mut_ptr().add(row * to_step + lane));
            }
        }
    }
}

/// The transform of the inputs. With M(x) the product of (x² - p²) over the pairs, the coefficients
/// for the point p are those of M(x) / (x - p), and those for infinity those of M(x).
#[inline(always)]
unsafe fn at_points<V: Lanes>(d: [V; POINTS]) -> [V; POINTS] {
    let [s, t, u] = PAIRS.map(|point| point * point);
    let mut points = [d[6]; POINTS];
    // SAFETY: the caller's processor has the instructions.
    unsafe {
        let factor = |value: f64| V::splat(value as f32);
        for (pair, (one, other)) in [(t, u), (s, u), (s, t)].into_iter().enumerate() {
            let (low, middle) = (factor(one * other), factor(-one - other));
            let even = d[0].multiply_add(low, d[2].multiply_add(middle, d[4]));
            let odd = d[1].multiply_add(low, d[3].multiply_add(middle, d[5]));
            points[2 * pair] = even.multiply_add(factor(PAIRS[pair]), odd);
            points[2 * pair + 1] = even.multiply_add(factor(-PAIRS[pair]), odd);
        }
        let sum = d[4].multiply_add(factor(-s - t - u), d[6]);
        let sum = d[2].multiply_add(factor(s * t + s * u + t * u), sum);
        points[6] = d[0].multiply_add(factor(-s * t * u), sum);
    }
    points
}

/// The transform of the products: output k is the sum of p^k times the product at p, and the last
/// has the product at infinity as well.
#[inline(always)]
unsafe fn outputs<V: Lanes>(m: [V; POINTS]) -> [V; OUTPUTS] {
    // SAFETY: the caller's processor has the instructions.
    unsafe {
        let factor = |value: f64| V::splat(value as f32);
        let (mut first, mut second, mut third) = (factor(0.0), factor(0.0), m[6]);
        for (pair, point) in PAIRS.into_iter().enumerate() {
            let sum = m[2 * pair].add(m[2 * pair + 1]);
            let difference = m[2 * pair + 1].multiply_add(factor(-1.0), m[2 * pair]);
            first = first.add(sum);
            second = difference.multiply_add(factor(point), second);
            third = sum.multiply_add(factor(point * point), third);
        }
        [first, second, third]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_shared::rng::{Purpose, Rng};

    fn noise(count: usize, client: u32) -> Vec<f32> {
        let mut rng = Rng::stream(6, Purpose::Synthetic, client, 0);
        (0..count).map(|_| rng.uniform() as f32 - 0.5).collect()
    }

    #[test]
    fn every_kernel_gives_the_same_bits_and_the_outputs_of_the_filter() {
        for lanes in [16, 32, 48, 832] {
            let (inputs, taps) = (noise(POINTS * lanes, 1), noise(TAPS * lanes, 2));
            let double: Vec<f64> = taps.iter().map(|&tap| f64::from(tap)).collect();
            let filter = filters(&double, lanes);
            let of = |kernel| {
                let mut points = vec![0.0; POINTS * lanes];
                spread(kernel, lanes, &inputs, lanes, &mut points, lanes);
                for (point, &factor) in points.iter_mut().zip(&filter) {
                    *point *= factor as f32;
                }
                let mut outputs = vec![0.0; OUTPUTS * lanes];
                gather(kernel, lanes, &points, lanes, &mut outputs, lanes);
                outputs
            };
            let portable = of(Kernel::PORTABLE);
            for kernel in Kernel::available() {
                assert_eq!(of(kernel), portable, "{kernel} {lanes}");
            }
            for (at, &output) in portable.iter().enumerate() {
                let exact: f64 = (0..TAPS)
                    .map(|tap| {
                        f64::from(inputs[at + tap * lanes]) * double[at % lanes + tap * lanes]
                    })
                    .sum();
                assert!((f64::from(output) - exact).abs() < 2e-6, "{output} {exact}");
            }
        }
    }

    #[test]
    fn rows_lie_at_their_steps_and_nothing_else_is_written() {
        let inputs = noise(POINTS * 40, 1);
        let mut close = vec![0.0; POINTS * 16];
        let tight: Vec<f32> = (0..POINTS)
            .flat_map(|row| inputs[row * 40..][..16].to_vec())
            .collect();
        for kernel in Kernel::available() {
            spread(kernel, 16, &tight, 16, &mut close, 16);
            let mut apart = vec![9.0; POINTS * 24];
            spread(kernel, 16, &inputs, 40, &mut apart, 24);
            for (row, close) in apart.chunks_exact(24).zip(close.chunks_exact(16)) {
                assert!(row[..16] == *close && row[16..] == [9.0; 8], "{kernel}");
            }
            let mut outputs = vec![9.0; OUTPUTS * 24];
            gather(kernel, 16, &apart, 24, &mut outputs, 24);
            let mut exact = vec![0.0; OUTPUTS * 16];
            gather(kernel, 16, &close, 16, &mut exact, 16);
            for (row, exact) in outputs.chunks_exact(24).zip(exact.chunks_exact(16)) {
                assert!(row[..16] == *exact && row[16..] == [9.0; 8], "{kernel}");
            }
        }
    }

    #[test]
    fn the_bias_point_is_part_of_every_output_once() {
        let mut products = vec![0.0; POINTS * 16];
        products[ONE * 16..][..16].fill(0.75);
        let mut outputs = vec![0.0; OUTPUTS * 16];
        gather(Kernel::PORTABLE, 16, &products, 16, &mut outputs, 16);
        assert_eq!(outputs, [0.75; OUTPUTS * 16]);
    }

    #[test]
    #[should_panic(expected = "beyond their slice")]
    fn a_slice_that_is_too_short_is_refused() {
        let mut outputs = [0.0; OUTPUTS * 16 - 1];
        gather(
            Kernel::PORTABLE,
            16,
            &[0.0; POINTS * 16],
            16,
            &mut outputs,
            16,
        );
    }
}
