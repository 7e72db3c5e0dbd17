//! Loss and accuracy of a model on samples, computed with the forward pass of training.

use super::forward::Pass;
use super::params::Params;
use super::partner::{Helper, Partner};
use super::result::EpochResult;
use super::sample::{Samples, lists_of};
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
