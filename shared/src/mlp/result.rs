//! The result of an epoch or an evaluation.

use super::softmax::Verdict;

/// The result of an epoch or an evaluation, before the step was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpochResult {
    /// Sum of cross-entropies in nats, units of 2^-16.
    pub loss_sum: u64,
    /// Number of samples classified correctly.
    pub correct: u32,
    /// Number of samples.
    pub samples: u32,
}

impl EpochResult {
    /// The result for no samples.
    pub(super) const NOTHING: Self = Self {
        loss_sum: 0,
        correct: 0,
        samples: 0,
    };

    /// Returns the mean cross-entropy in units of 2^-16; zero without samples.
    pub const fn mean_loss(&self) -> u32 {
        match self.loss_sum.checked_div(self.samples as u64) {
            Some(mean) => mean as u32,
            None => 0,
        }
    }

    /// Adds the result of another part.
    pub const fn add(&mut self, other: &Self) {
        self.loss_sum += other.loss_sum;
        self.correct += other.correct;
        self.samples += other.samples;
    }

    pub(super) const fn count(&mut self, verdict: Verdict) {
        self.loss_sum += verdict.loss as u64;
        self.correct += verdict.correct as u32;
        self.samples += 1;
    }
}
