//! Softmax and cross-entropy over rows of class scores.

/// Class scores are stored in rows of this many lanes; unused lanes stay zero.
pub(super) const LANES: usize = 16;

/// The loss and accuracy of a batch of scores.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Score {
    /// The sum of the samples' cross-entropies.
    pub loss: f64,
    /// Samples whose largest score is at their label.
    pub correct: usize,
}

impl Score {
    pub(super) fn add(self, other: Self) -> Self {
        Self {
            loss: self.loss + other.loss,
            correct: self.correct + other.correct,
        }
    }
}

/// Samples whose cross-entropies share a logarithm: a sum of powers is at most 256, so 64 of them multiply
/// without overflow.
const BLOCK: usize = 64;

/// Turns each row of scores z into (softmax(z) - y) `scale`, the gradient of `scale` times the
/// cross-entropy, and returns the score; y is the one-hot label.
#[inline(always)]
pub(super) fn errors(rows: &mut [f32], labels: &[u8], classes: usize, scale: f32) -> Score {
    let (rows, _) = rows.as_chunks_mut::<LANES>();
    let mut columns = [[0.0; BLOCK]; LANES];
    let mut score = Score::default();
    for (rows, labels) in rows.chunks_mut(BLOCK).zip(labels.chunks(BLOCK)) {
        load(rows, &mut columns);
        block_errors(rows, labels, &mut columns[..classes], scale, &mut score);
        columns[classes..].fill([0.0; BLOCK]);
        store(&columns, rows);
        for (row, &label) in rows.iter_mut().zip(labels) {
            row[usize::from(label)] -= scale;
        }
    }
    score
}

/// Replaces up to 64 rows by their errors, in the steps of [`row_error`], and adds to the score. A column
/// holds the values of a class, one lane a row.
#[inline(always)]
fn block_errors(
    rows: &[[f32; LANES]],
    labels: &[u8],
    columns: &mut [[f32; BLOCK]],
    scale: f32,
    score: &mut Score,
) {
    // The class of the largest score, as a number: lanes of one type are compared and chosen together.
    let (mut largest, mut places) = (columns[0], [0.0; BLOCK]);
    for (class, column) in columns.iter().enumerate().skip(1) {
        let class = class as f32;
        for ((largest, place), &value) in largest.iter_mut().zip(&mut places).zip(column) {
            let wins = value > *largest;
            *largest = if wins { value } else { *largest };
            *place = if wins { class } else { *place };
        }
    }
    for (lane, (row, &label)) in rows.iter().zip(labels).enumerate() {
        score.correct += usize::from(places[lane] == f32::from(label));
        score.loss -= f64::from(row[usize::from(label)] - largest[lane]);
    }
    let mut sums = [0.0; BLOCK];
    for column in columns.iter_mut() {
        for ((value, largest), sum) in column.iter_mut().zip(&largest).zip(&mut sums) {
            *value = exp_of_negative(*value - largest);
            *sum += *value;
        }
    }
    let shares = sums.map(|sum| scale / sum);
    for column in columns.iter_mut() {
        for (value, share) in column.iter_mut().zip(&shares) {
            *value *= share;
        }
    }
    let product = |product, sum: &f32| product * f64::from(*sum);
    score.loss += libm::log(sums[..rows.len()].iter().fold(1.0, product));
}

#[inline(always)]
fn load(rows: &[[f32; LANES]], columns: &mut [[f32; BLOCK]; LANES]) {
    for (lane, row) in rows.iter().enumerate() {
        for class in 0..LANES {
            columns[class][lane] = row[class];
        }
    }
}

#[inline(always)]
fn store(columns: &[[f32; BLOCK]; LANES], rows: &mut [[f32; LANES]]) {
    for (lane, row) in rows.iter_mut().enumerate() {
        for class in 0..LANES {
            row[class] = columns[class][lane];
        }
    }
}

/// As [`errors`], of rows of any `width`.
pub(super) fn wide_errors(
    rows: &mut [f32],
    width: usize,
    labels: &[u8],
    classes: usize,
    scale: f32,
) -> Score {
    let mut rows = rows.chunks_exact_mut(width);
    let mut score = Score::default();
    for labels in labels.chunks(BLOCK) {
        let mut product = 1.0;
        for (&label, row) in labels.iter().zip(&mut rows) {
            let row = row_error(row, usize::from(label), classes, scale);
            score.correct += usize::from(row.correct);
            score.loss -= f64::from(row.below_largest);
            product *= f64::from(row.sum);
        }
        score.loss += libm::log(product);
    }
    score
}

/// The score of one row: its cross-entropy is ln `sum` - `below_largest`.
struct RowScore {
    correct: bool,
    below_largest: f32,
    sum: f32,
}

#[inline(always)]
fn row_error(row: &mut [f32], label: usize, classes: usize, scale: f32) -> RowScore {
    let (largest, at) = maximum(&row[..classes]);
    let below_largest = row[label] - largest;
    let sum = powers(row, largest, classes);
    let share = scale / sum;
    for error in row.iter_mut() {
        *error *= share;
    }
    row[label] -= scale;
    RowScore {
        correct: at == label,
        below_largest,
        sum,
    }
}

/// Replaces scores by powers of e, those beyond the classes by zero, and returns their sum.
#[inline(always)]
fn powers(row: &mut [f32], largest: f32, classes: usize) -> f32 {
    for value in row.iter_mut() {
        *value = exp_of_negative(*value - largest);
    }
    row[classes..].fill(0.0);
    row[..classes].iter().fold(0.0, |sum, power| sum + power)
}

/// Returns the largest value and the first place that has it.
fn maximum(values: &[f32]) -> (f32, usize) {
    let mut best = (values[0], 0);
    for (at, &value) in values.iter().enumerate().skip(1) {
        if value > best.0 {
            best = (value, at);
        }
    }
    best
}

/// Returns e^x for x <= 0 to about 2 units in the last place; below e^-87 that instead.
///
/// e^x = 2^n e^r with n = round(x / ln 2) and |r| <= ln 2 / 2, e^r by its Taylor polynomial.
/// Multiplications and additions only, so that a row is computed in lanes and every platform
/// rounds alike.
#[inline(always)]
fn exp_of_negative(x: f32) -> f32 {
    // Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, the first short enough that n * LN2_HIGH is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    // Lanes beyond the classes may hold anything, larger values included.
    let x = x.clamp(-87.0, 1.0);
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let tail = 1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0));
    let series = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * tail))));
    let exponent = rounded
        .to_bits()
        .wrapping_sub(ROUND.to_bits())
        .wrapping_add(127);
    series * f32::from_bits(exponent << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_is_right_to_the_last_places() {
        for step in 0..87_000 {
            let x = -(step as f32) / 1000.0;
            let (ours, exact) = (f64::from(exp_of_negative(x)), libm::exp(f64::from(x)));
            assert!((ours / exact - 1.0).abs() < 2.5e-7, "{x}: {ours} {exact}");
        }
        assert_eq!(exp_of_negative(0.0), 1.0);
        assert!(exp_of_negative(f32::NEG_INFINITY) < 2e-38);
    }

    #[test]
    fn errors_match_the_definition_and_leave_unused_lanes_zero() {
        let mut row = [0.0; LANES];
        row[..3].copy_from_slice(&[1.0, -2.0, 0.5]);
        row[5] = 99.0;
        let score = errors(&mut row, &[2], 3, 0.5);
        let powers = [1.0f64, -2.0, 0.5].map(f64::exp);
        let sum: f64 = powers.iter().sum();
        for class in 0..3 {
            let expected = 0.5 * (powers[class] / sum - f64::from(u8::from(class == 2)));
            assert!((f64::from(row[class]) - expected).abs() < 1e-7);
        }
        assert!(row[3..].iter().all(|&lane| lane == 0.0));
        assert!((score.loss - (sum.ln() - 0.5)).abs() < 1e-6);
        assert_eq!(score.correct, 0);
    }

    #[test]
    fn rows_of_any_width_give_the_same_errors() {
        let rows: Vec<f32> = (0..200 * LANES)
            .map(|at| (at * 37 % 101) as f32 / 9.0)
            .collect();
        let labels: Vec<u8> = (0..200).map(|at| at % 16).collect();
        let (mut narrow, mut wide) = (rows.clone(), rows);
        let of_narrow = errors(&mut narrow, &labels, 16, 0.1);
        let of_wide = wide_errors(&mut wide, LANES, &labels, 16, 0.1);
        assert_eq!((of_narrow, narrow), (of_wide, wide));
    }
}
