//! Orthogonalisation: an approximation of the nearest matrix with equal singular values.
//!
//! The Newton-Schulz iteration of Muon (Jordan et al., "Muon: an optimizer for hidden layers in
//! neural networks", 2024): five steps take every singular value that is not tiny to somewhere
//! between 0.7 and 1.2 and leave the singular vectors as they are.

use super::layer::length;
use crate::train::{Aligned, Kernel, Left, multiply};

/// Jordan's coefficients of X, X (X'X) and X (X'X)^2.
const COEFFICIENTS: [f32; 3] = [3.4445, -4.7750, 2.0315];

/// Steps of the iteration.
const STEPS: usize = 5;

/// Rows of a tall matrix that are multiplied at a time: whole tiles of every kernel.
const ROWS: usize = 72;

/// The kernels' vectors are whole rows of this many values.
const LANES: usize = 16;

/// Replaces a matrix D of `rows` and `columns` stored row by row, by NS5(D): X = D / ||D||_F, then
/// five times X <- X (a I + b X'X + c (X'X)^2), with the short side inside. Zero stays zero, and a
/// matrix that is not finite becomes zero.
pub(super) fn orthogonalise(kernel: Kernel, rows: usize, columns: usize, matrix: &mut [f64]) {
    let norm = length(matrix);
    if norm <= 0.0 || !norm.is_finite() {
        return matrix.fill(0.0);
    }
    let scale = 1.0 / norm;
    // A vector has one singular value, its length.
    if rows == 1 || columns == 1 {
        return matrix.iter_mut().for_each(|value| *value *= scale);
    }
    let tall = Tall {
        kernel,
        long: rows.max(columns),
        short: rows.min(columns),
        width: rows.min(columns).next_multiple_of(LANES),
    };
    let mut x = Aligned::zeros(tall.long * tall.width);
    tall.visit(&mut x, matrix, columns, |to, from| {
        *to = (*from * scale) as f32;
    });
    tall.iterate(&mut x);
    tall.visit(&mut x, matrix, columns, |from, to| *to = f64::from(*from));
}

/// The sizes of a tall matrix whose rows are padded with zeros to `width`.
#[derive(Clone, Copy)]
struct Tall {
    kernel: Kernel,
    long: usize,
    short: usize,
    width: usize,
}

impl Tall {
    /// Calls `pair` for the values of `x` and of the matrix, which is transposed if wide.
    fn visit(
        self,
        x: &mut [f32],
        matrix: &mut [f64],
        columns: usize,
        mut pair: impl FnMut(&mut f32, &mut f64),
    ) {
        for (row, values) in matrix.chunks_exact_mut(columns).enumerate() {
            if columns == self.short {
                let to = x[row * self.width..].iter_mut();
                to.zip(values).for_each(|(x, value)| pair(x, value));
            } else {
                let to = x[row..].iter_mut().step_by(self.width);
                to.zip(values).for_each(|(x, value)| pair(x, value));
            }
        }
    }

    /// Takes all steps at once: X P_1 P_2 ..., where A_1 = X'X, P_k = a I + b A_k + c A_k^2 and
    /// A_{k+1} = A_k P_k P_k, which is P_k A_k P_k since polynomials of one matrix commute. Only small
    /// matrices are iterated, which takes a third of the time. Their rounding error grows about
    /// twelvefold a step, to 2e-3 of a singular value at worst; the iteration itself leaves 0.3.
    fn iterate(self, x: &mut [f32]) {
        let mut gram = self.square(Left::transposed(x, self.width, self.long), x);
        let mut last = self.polynomial(&gram);
        let mut all = Aligned::copy(&last);
        for _ in 1..STEPS {
            gram = self.times(&self.times(&gram, &last), &last);
            last = self.polynomial(&gram);
            all = self.times(&all, &last);
        }
        self.apply(&all, x);
    }

    /// Replaces X by X Q, a few rows at a time: they stay in the cache and need no second matrix.
    fn apply(self, factor: &[f32], x: &mut [f32]) {
        let mut room = Aligned::zeros(ROWS * self.width);
        for rows in x.chunks_mut(ROWS * self.width) {
            let out = &mut room[..rows.len()];
            out.fill(0.0);
            let left = Left::matrix(rows, self.width, self.short);
            let height = rows.len() / self.width;
            multiply(self.kernel, height, left, factor, out, self.width);
            rows.copy_from_slice(out);
        }
    }

    /// Returns a I + b A + c A^2.
    fn polynomial(self, gram: &[f32]) -> Aligned {
        let [a, b, c] = COEFFICIENTS;
        let mut sum = self.times(gram, gram);
        for (sum, gram) in sum.iter_mut().zip(gram) {
            *sum = c * *sum + b * gram;
        }
        for at in 0..self.short {
            sum[at * self.width + at] += a;
        }
        sum
    }

    /// Returns the product of two square matrices.
    fn times(self, left: &[f32], right: &[f32]) -> Aligned {
        self.square(Left::matrix(left, self.width, self.short), right)
    }

    fn square(self, left: Left<'_>, right: &[f32]) -> Aligned {
        let mut out = Aligned::zeros(self.short * self.width);
        multiply(self.kernel, self.short, left, right, &mut out, self.width);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::reference::newton_schulz;
    use super::*;
    use gleaner_shared::rng::{Purpose, Rng};

    fn noise(count: usize, client: u32) -> Vec<f64> {
        let mut rng = Rng::stream(13, Purpose::Synthetic, client, 0);
        (0..count).map(|_| rng.uniform() - 0.5).collect()
    }

    fn orthogonal(kernel: Kernel, rows: usize, columns: usize, matrix: &[f64]) -> Vec<f64> {
        let mut result = matrix.to_vec();
        orthogonalise(kernel, rows, columns, &mut result);
        result
    }

    /// A matrix whose singular values fall from 1 to `least`, evenly in the exponent.
    fn graded(rows: usize, columns: usize, least: f64) -> Vec<f64> {
        let exponent = |at: usize| at as f64 / (columns - 1) as f64;
        with_values(rows, columns, |at| least.powf(exponent(at)))
    }

    /// A matrix with one singular value of 1 above others of `least`.
    fn spiked(rows: usize, columns: usize, least: f64) -> Vec<f64> {
        with_values(rows, columns, |at| if at == 0 { 1.0 } else { least })
    }

    /// A matrix with these singular values, mixed by reflections so that nothing is diagonal.
    fn with_values(rows: usize, columns: usize, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut matrix = vec![0.0; rows * columns];
        for at in 0..columns {
            matrix[at * columns + at] = value(at);
        }
        let reflect = |count: usize, client| {
            let axis = noise(count, client);
            let norm = axis.iter().map(|x| x * x).sum::<f64>();
            (axis, norm)
        };
        let (axis, norm) = reflect(rows, 90);
        for column in 0..columns {
            let along: f64 = (0..rows)
                .map(|k| axis[k] * matrix[k * columns + column])
                .sum();
            for row in 0..rows {
                matrix[row * columns + column] -= 2.0 * along / norm * axis[row];
            }
        }
        let (axis, norm) = reflect(columns, 91);
        for row in matrix.chunks_exact_mut(columns) {
            let along: f64 = row.iter().zip(&axis).map(|(x, a)| x * a).sum();
            row.iter_mut()
                .zip(&axis)
                .for_each(|(x, a)| *x -= 2.0 * along / norm * a);
        }
        matrix
    }

    /// Returns how far a result is from the definition: ||difference||_F, which bounds the error of
    /// every singular value (Weyl).
    fn error(rows: usize, columns: usize, matrix: &[f64]) -> f64 {
        let matrix_rows = matrix.chunks_exact(columns).map(<[f64]>::to_vec).collect();
        let exact = newton_schulz(&matrix_rows).concat();
        let found = orthogonal(Kernel::PORTABLE, rows, columns, matrix);
        let apart = exact.iter().zip(found).map(|(a, b)| a - b);
        apart.map(|x| x * x).sum::<f64>().sqrt()
    }

    #[test]
    fn every_singular_value_is_that_of_the_definition_to_half_a_hundredth() {
        for (rows, columns) in [(784, 50), (50, 10), (75, 64), (192, 10), (33, 17)] {
            let even = error(rows, columns, &noise(rows * columns, 1));
            assert!(even < 1e-4, "{rows} x {columns}: {even}");
            for least in [1e-1, 1e-2, 1e-3, 1e-4, 1e-8] {
                let graded = error(rows, columns, &graded(rows, columns, least));
                let spiked = error(rows, columns, &spiked(rows, columns, least));
                let worst = graded.max(spiked);
                assert!(
                    worst < 5e-3,
                    "{rows} x {columns}, {least}: {graded} {spiked}"
                );
            }
        }
    }

    #[test]
    fn singular_values_become_nearly_equal_and_wide_matrices_are_transposed() {
        let (rows, columns) = (40, 12);
        let tall = noise(rows * columns, 3);
        let mut wide = vec![0.0; rows * columns];
        for at in 0..rows * columns {
            wide[at % columns * rows + at / columns] = tall[at];
        }
        let found = orthogonal(Kernel::PORTABLE, rows, columns, &tall);
        let turned = orthogonal(Kernel::PORTABLE, columns, rows, &wide);
        for at in 0..rows * columns {
            assert_eq!(turned[at % columns * rows + at / columns], found[at]);
        }
        // sum sigma^2 and sum sigma^4 of twelve values between 0.7 and 1.2.
        let dot = |a: usize, b: usize| -> f64 {
            let terms = found.chunks_exact(columns).map(|row| row[a] * row[b]);
            terms.sum()
        };
        for column in 0..columns {
            let squared = dot(column, column);
            assert!((0.45..1.45).contains(&squared), "{squared}");
        }
    }

    #[test]
    fn every_kernel_has_the_same_bits() {
        for (rows, columns) in [(784, 50), (50, 10), (10, 50), (75, 64), (5, 1)] {
            let matrix = noise(rows * columns, 5);
            let portable = orthogonal(Kernel::PORTABLE, rows, columns, &matrix);
            for kernel in Kernel::available() {
                let found = orthogonal(kernel, rows, columns, &matrix);
                assert_eq!(found, portable, "{kernel} {rows} x {columns}");
            }
        }
    }

    #[test]
    fn zero_stays_zero_and_results_are_finite() {
        let of = |matrix: &[f64]| orthogonal(Kernel::PORTABLE, 3, 2, matrix);
        assert_eq!(of(&[0.0; 6]), [0.0; 6]);
        assert_eq!(of(&[f64::NAN; 6]), [0.0; 6]);
        for size in [1e-150, 1e-30, 1e30, 1e150] {
            let found = of(&[size, 0.0, 0.0, -size, 0.5 * size, 0.0]);
            assert!(
                found.iter().all(|x| x.is_finite() && x.abs() < 1.3),
                "{found:?}"
            );
            assert!(length(&found) > 0.9, "{found:?}");
        }
        // One column of two, and all of one row.
        let half = of(&[1.0, 0.0, 2.0, 0.0, 2.0, 0.0]);
        assert!(
            half.iter().skip(1).step_by(2).all(|x| *x == 0.0),
            "{half:?}"
        );
    }
}
