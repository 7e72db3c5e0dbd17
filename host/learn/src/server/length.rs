//! Euclidean lengths, summed in double precision over eight lanes: the order is stated, so that it is
//! the same everywhere, and leaves the compiler room for vectors.

const LANES: usize = 8;

/// Returns |values|.
pub(super) fn length<T: Copy + Into<f64>>(values: &[T]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let (whole, rest) = values.as_chunks::<LANES>();
    for chunk in whole {
        for (sum, &value) in sums.iter_mut().zip(chunk) {
            let value: f64 = value.into();
            *sum += value * value;
        }
    }
    for (sum, &value) in sums.iter_mut().zip(rest) {
        let value: f64 = value.into();
        *sum += value * value;
    }
    sums.iter().sum::<f64>().sqrt()
}

/// Returns |a - b|.
pub(super) fn distance(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut add = |a: &[f32], b: &[f32]| {
        for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
            let difference = f64::from(a) - f64::from(b);
            *sum += difference * difference;
        }
    };
    for (a, b) in a.iter().zip(b) {
        add(a, b);
    }
    add(a_rest, b_rest);
    sums.iter().sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_definition_for_every_remainder() {
        for count in 0..40 {
            let a: Vec<f32> = (0..count).map(|i| 0.5 * i as f32 - 3.0).collect();
            let b: Vec<f32> = (0..count).map(|i| (i % 7) as f32).collect();
            let squares = a.iter().map(|&x| f64::from(x) * f64::from(x));
            assert!((length(&a) - squares.sum::<f64>().sqrt()).abs() < 1e-9);
            let apart: Vec<f64> = a.iter().zip(&b).map(|(&a, &b)| f64::from(a - b)).collect();
            assert!((distance(&a, &b) - length(&apart)).abs() < 1e-9);
        }
    }
}
