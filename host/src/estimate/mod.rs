//! What the base station learns from a round: averages, estimates and energy queues.
//!
//! Vectors are in double precision and client order; sums run in that order.

mod average;
mod divergence;
mod queue;
mod smoothness;

pub use average::{average, normalised_average};
pub use divergence::{Divergence, DivergenceRule};
pub use queue::{cumulative_within_income, energy_balance, next_queue};
pub use smoothness::{ETA_BETA_LIMIT, Observation, clip_beta, lipschitz, smoothness};

/// Returns the Euclidean norm.
#[must_use]
pub fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Returns the Euclidean distance.
#[must_use]
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(x, y)| (x - y) * (x - y))
        .sum::<f64>()
        .sqrt()
}
