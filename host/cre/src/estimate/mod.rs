//! Estimates of a round: delta, rho and beta of Eqs. (17a) to (17c).
//!
//! Vectors are in double precision and client order; sums run in that order.

mod divergence;
mod smoothness;

pub use divergence::{Divergence, DivergenceRule};
pub use smoothness::{Observation, clip_beta, lipschitz, smoothness};

/// Returns the Euclidean norm.
#[must_use]
pub fn norm(vector: &[f64]) -> f64 {
    norm_of(vector, vector, |x, _| x)
}

/// Returns the Euclidean distance.
#[must_use]
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm_of(a, b, |x, y| x - y)
}

/// Number of parallel sums; a single sum would wait for each of its additions.
const LANES: usize = 8;

/// Returns the Euclidean norm of the element-wise `combine` of two vectors. Element k is summed in
/// lane k mod [`LANES`], and lanes are added in order.
fn norm_of(a: &[f64], b: &[f64], combine: impl Fn(f64, f64) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let mut add = |a: &[f64], b: &[f64]| {
        for (sum, (&x, &y)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            let value = combine(x, y);
            *sum += value * value;
        }
    };
    let (whole_a, rest_a) = a.as_chunks::<LANES>();
    let (whole_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in whole_a.iter().zip(whole_b) {
        add(a, b);
    }
    add(rest_a, rest_b);
    lanes.iter().sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_and_what_is_left_over_are_all_counted() {
        for length in [0, 1, 7, 8, 9, 30] {
            let vector: Vec<f64> = (0..length).map(f64::from).collect();
            let squares: f64 = vector.iter().map(|x| x * x).sum();
            assert_eq!(norm(&vector), squares.sqrt(), "{length}");
            let moved: Vec<f64> = vector.iter().map(|x| x + 2.0).collect();
            assert_eq!(distance(&vector, &moved), 2.0 * f64::from(length).sqrt());
        }
    }
}
