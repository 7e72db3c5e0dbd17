//! Softmax and cross-entropy of rows of class scores.
#![allow(unsafe_code)]

use super::lanes::Lanes;
use super::select::{Kernel, dispatch};
use crate::train::softmax::{self, Score};

/// As [`softmax::errors`], with the instructions of `kernel`.
pub(in crate::train) fn errors(
    kernel: Kernel,
    rows: &mut [f32],
    labels: &[u8],
    classes: usize,
    scale: f32,
) -> Score {
    let mut sum = Score::default();
    let score = &mut sum;
    dispatch!(
        kernel,
        all,
        (rows: &mut [f32], labels: &[u8], classes: usize, scale: f32, score: &mut Score)
    );
    sum
}

/// Plain Rust that the compiler vectorises for the instructions of `V`.
///
/// # Safety
/// The processor must have the instructions of `V`.
#[inline(always)]
unsafe fn all<V: Lanes>(
    rows: &mut [f32],
    labels: &[u8],
    classes: usize,
    scale: f32,
    score: &mut Score,
) {
    let _ = V::WIDTH;
    *score = softmax::errors(rows, labels, classes, scale);
}

#[cfg(test)]
mod tests {
    use gleaner_shared::rng::{Purpose, Rng};

    use super::*;
    use crate::train::softmax::{LANES, wide_errors};

    /// Whole and partial blocks, ties, and rows that are no numbers.
    #[test]
    fn every_kernel_gives_the_bits_of_one_row_after_the_other() {
        let mut rng = Rng::stream(4, Purpose::Synthetic, 0, 0);
        for (count, classes) in [(1, 2), (64, 10), (100, 10), (131, 16)] {
            let mut rows = vec![0.0; count * LANES];
            for row in rows.chunks_mut(LANES) {
                row[..classes].fill_with(|| rng.below(7) as f32 - 3.0);
            }
            if count > 70 {
                rows[65 * LANES] = f32::NAN;
                rows[66 * LANES + 1] = f32::NAN;
            }
            let labels: Vec<u8> = (0..count)
                .map(|_| rng.below(classes as u32) as u8)
                .collect();
            let mut expected = rows.clone();
            let score = wide_errors(&mut expected, LANES, &labels, classes, 0.1);
            for kernel in Kernel::available() {
                let mut rows = rows.clone();
                let found = errors(kernel, &mut rows, &labels, classes, 0.1);
                assert_eq!(found.correct, score.correct, "{kernel} {count}");
                assert_eq!(found.loss.is_nan(), score.loss.is_nan());
                assert!(
                    found.loss.is_nan() || found.loss == score.loss,
                    "{kernel} {count}"
                );
                let rows = rows.chunks(LANES).zip(expected.chunks(LANES));
                for (row, expected) in rows {
                    let same = |(a, b): (&f32, &f32)| a == b || (a.is_nan() && b.is_nan());
                    assert!(
                        row[..classes].iter().zip(expected).all(same),
                        "{kernel} {count}"
                    );
                }
            }
        }
    }
}
