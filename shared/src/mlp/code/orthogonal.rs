//! Orthogonal columns in 8 bits, by the modified Gram-Schmidt process in integers.
//!
//! A column is made orthogonal to the codes of the columns before it, not to what they stood for, so that
//! the rounding of codes does not join columns again.

/// Bits of a column's largest number before it is made orthogonal.
const COLUMN_BITS: u32 = 14;
/// Fractional bits of what is subtracted.
const FRACTION: u32 = 10;
/// A column that is left with less than this, of 2^14, depends on those before it and becomes zero.
const LEAST: u32 = 8;
/// A column that is left with less than this is made orthogonal a second time.
const SHORT: u32 = 1 << 11;
/// Rows whose sum of products fits 32 bits.
const EXACT_ROWS: usize = 64;

/// Writes the codes of the columns of a matrix, which is used up, and returns the sum of squares of each
/// column's codes. The largest code of a column is 127.
pub(super) fn orthogonalise<const R: usize>(
    matrix: &mut [[i32; R]],
    codes: &mut [[u8; R]],
) -> [u32; R] {
    let mut squares = [0; R];
    for k in 0..R {
        lift(matrix, k);
        subtract_all(matrix, k, codes, &squares);
        // Rounding to units is too coarse for the little that is left: twice is enough.
        if (LEAST..SHORT).contains(&largest(matrix, k)) {
            lift(matrix, k);
            subtract_all(matrix, k, codes, &squares);
        }
        squares[k] = round(matrix, k, codes);
    }
    squares
}

/// Returns the largest magnitude of a column.
fn largest<const R: usize>(matrix: &[[i32; R]], k: usize) -> u32 {
    let magnitudes = matrix.iter().map(|row| row[k].unsigned_abs());
    magnitudes.fold(0, u32::max)
}

/// Shifts a column so that its largest magnitude has 14 bits.
fn lift<const R: usize>(matrix: &mut [[i32; R]], k: usize) {
    let bits = u32::BITS - largest(matrix, k).leading_zeros();
    let up = COLUMN_BITS.saturating_sub(bits);
    let down = bits.saturating_sub(COLUMN_BITS);
    let half = (1 << down) >> 1;
    for row in matrix {
        row[k] = ((row[k] + half) >> down) << up;
    }
}

/// Makes column `k` orthogonal to the codes of those before it.
fn subtract_all<const R: usize>(
    matrix: &mut [[i32; R]],
    k: usize,
    codes: &[[u8; R]],
    squares: &[u32; R],
) {
    for (other, &square) in squares.iter().enumerate().take(k) {
        if square != 0 {
            subtract(matrix, k, codes, (other, square));
        }
    }
}

/// Subtracts from column `k` its part along the codes of another, whose sum of squares is given.
fn subtract<const R: usize>(
    matrix: &mut [[i32; R]],
    k: usize,
    codes: &[[u8; R]],
    (other, square): (usize, u32),
) {
    let mut product = 0i64;
    for (rows, codes) in matrix.chunks(EXACT_ROWS).zip(codes.chunks(EXACT_ROWS)) {
        let mut sum = 0i32;
        for (row, codes) in rows.iter().zip(codes) {
            sum = sum.wrapping_add(row[k].wrapping_mul(i32::from(codes[other] as i8)));
        }
        product += i64::from(sum);
    }
    let half = i64::from(square) / 2;
    let factor = ((product << FRACTION) + half).div_euclid(square.into());
    // Beyond this only a column of more than 2^14 rows with one number can go.
    let factor = factor.clamp(-(1 << 23), 1 << 23) as i32;
    for (row, codes) in matrix.iter_mut().zip(codes) {
        let part = factor * i32::from(codes[other] as i8);
        row[k] -= (part + (1 << (FRACTION - 1))) >> FRACTION;
    }
}

/// Writes the codes of a column and returns the sum of their squares.
fn round<const R: usize>(matrix: &[[i32; R]], k: usize, codes: &mut [[u8; R]]) -> u32 {
    /// Fractional bits of the factor.
    const FRACTION: u32 = 23;
    let largest = largest(matrix, k);
    let inverse = match largest {
        ..LEAST => 0,
        _ => ((127u32 << FRACTION) / largest) as i32,
    };
    let mut square = 0;
    for (row, codes) in matrix.iter().zip(codes) {
        let code = (row[k] * inverse + (1 << (FRACTION - 1))) >> FRACTION;
        codes[k] = code as u8;
        square += (code * code) as u32;
    }
    square
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    fn product<const R: usize>(codes: &[[u8; R]], a: usize, b: usize) -> f64 {
        let of = |code: u8| f64::from(code as i8);
        codes.iter().map(|row| of(row[a]) * of(row[b])).sum()
    }

    #[test]
    fn columns_of_any_size_become_orthogonal_and_keep_their_span() {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
        for (rows, bits) in [(50, 4), (784, 12), (784, 25), (3000, 29)] {
            let mut number = || rng.next_u32() as i32 >> (31 - bits);
            let mut matrix: Vec<[i32; 4]> = (0..rows)
                .map(|_| core::array::from_fn(|_| number()))
                .collect();
            // Nearly dependent columns, as those of a change with one large direction.
            for row in &mut matrix {
                row[1] = row[0] / 2 + row[1] / 64;
            }
            let mut codes = vec![[0; 4]; rows];
            let squares = orthogonalise(&mut matrix.clone(), &mut codes);
            for (a, &square) in squares.iter().enumerate() {
                assert!((product(&codes, a, a) - f64::from(square)).abs() < 0.5);
                for b in 0..a {
                    let cosine = product(&codes, a, b)
                        / (product(&codes, a, a) * product(&codes, b, b)).sqrt();
                    assert!(cosine.abs() < 0.02, "{rows} {bits}: {a} {b} {cosine}");
                }
            }
        }
    }

    #[test]
    fn a_column_that_depends_on_others_becomes_zero() {
        // Codes are exact, so that nothing is left of the other column.
        let mut matrix: Vec<[i32; 2]> = (-127..=127).map(|row| [row, -3 * row]).collect();
        let mut codes = vec![[1; 2]; matrix.len()];
        let squares = orthogonalise(&mut matrix, &mut codes);
        assert_eq!(squares[1], 0);
        assert!(codes.iter().all(|row| row[1] == 0));
        let mut zero = vec![[0; 2]; 9];
        assert_eq!(orthogonalise(&mut zero, &mut [[1; 2]; 9]), [0, 0]);
    }
}
