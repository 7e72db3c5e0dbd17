//! Loss and accuracy of a model on samples, computed with the forward pass of training.

use super::forward::Pass;
use super::params::Params;
use super::partner::{Helper, Partner};
use super::sample::{Samples, lists_of};
use super::softmax::Verdict;
use super::softmax::softmax_error;

/// Evaluates samples `range` (cut at the last sample); samples whose label is no class are left
/// out. Results of parts add up with [`EpochResult::add`].
pub fn evaluate<const IN: usize, const HID: usize, const OUT: usize>(
    params: &Params<IN, HID, OUT>,
    samples: &impl Samples<IN>,
    range: core::ops::Range<usize>,
    pass: &mut Pass<HID, OUT>,
) -> EpochResult {
    let lists = lists_of(samples);
    let classes = params.shape().classes;
    let mut result = EpochResult::default();
    for index in range.start..range.end.min(samples.len()) {
        let label = usize::from(samples.label(index));
        if label < classes {
            let row = lists.as_ref().map_or(&[][..], |lists| lists.row(index));
            pass.forward(params, samples.pixels(index), row);
            result.count(softmax_error(&mut pass.output[..classes], label));
        }
    }
    result
}

/// Evaluates samples `range` with the help of another core, if there is one, to the same result.
pub fn evaluate_with<const IN: usize, const HID: usize, const OUT: usize>(
    helper: Option<Helper<'_, impl Partner, HID, OUT>>,
    params: &Params<IN, HID, OUT>,
    samples: &impl Samples<IN>,
    range: core::ops::Range<usize>,
    pass: &mut Pass<HID, OUT>,
) -> EpochResult {
    let Some(helper) = helper else {
        return evaluate(params, samples, range, pass);
    };
    let end = range.end.min(samples.len());
    let middle = range.start + end.saturating_sub(range.start).div_ceil(2);
    let (mut ours, mut theirs) = (EpochResult::default(), EpochResult::default());
    let other = &mut helper.work.pass;
    helper.partner.join(
        || ours = evaluate(params, samples, range.start..middle, pass),
        || theirs = evaluate(params, samples, middle..end, other),
    );
    ours.add(&theirs);
    ours
}

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
