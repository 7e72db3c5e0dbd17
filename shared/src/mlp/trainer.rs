//! Full-batch gradient descent, an epoch as a state machine that stops wherever it is told to.
//!
//! An epoch is two passes, and no buffer for dW1 exists:
//! 1. by samples: forward, output error, dW2, and the sample's row of hidden errors;
//! 2. by pixels, four at a time: gather (sample, x) from every sample, sum g = sum x d1 and step
//!    the four rows of W1 in place. Every row of hidden errors was computed from the old W1, so
//!    the step is the exact full-batch one.
//!
//! Random bits are drawn in this order: for every pixel that is not zero in some sample with an
//! error, half a word a weight of its row, low half first; then b1, W2 and b2, a word each. A
//! pixel that is zero everywhere draws nothing.
//!
//! With a [`Helper`] another core takes half of the samples and every other block of pixels; see
//! [`super::partner`].

use super::descent::{Factor, LearningRate, RowFactor};
use super::evaluate::EpochResult;
use super::kernel::{self, ErrorRow};
use super::params::{Params, Tensor};
use super::partner::{Alone, Helper, Partner};
use super::sample::Samples;
use super::scratch::error_rows;
use super::work::{BLOCK, Work, exact_rows};
use crate::board::Shape;
use crate::rng::Rng;

/// How many samples each of two cores learns between two joins: enough that their sums of rows
/// differ by little.
const PORTION: usize = 8;

/// The outcome of [`Trainer::step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Step {
    More,
    /// The epoch is complete and the parameters have moved; the next call begins another.
    Done(EpochResult),
}

/// The error of training that cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TrainError {
    #[error("there are no samples to train on")]
    NoSamples,
    #[error(
        "{samples} samples, but the scratch memory is good for {room}: give it \
         scratch_words::<HID>({samples}) words"
    )]
    TooManySamples { samples: usize, room: usize },
    #[error("sample {sample} has label {label}, which is not a class")]
    Label { sample: usize, label: u8 },
}

/// The position of a trainer within an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Sample(usize),
    Pixel(usize),
}

/// Trains parameters in place, epoch after epoch.
///
/// # Examples
/// ```
/// use gleaner_shared::mlp::sample::Slices;
/// use gleaner_shared::mlp::{LearningRate, Params, Trainer, Work, scratch_words};
/// use gleaner_shared::rng::{Purpose, Rng};
///
/// let samples = Slices { pixels: &[[255, 0, 0, 0], [0, 0, 0, 255]], labels: &[0, 1] };
/// let mut params = Params::<4, 6, 2>::new();
/// params.initialise(1);
/// let (mut work, mut scratch) = (Work::new(), [0; scratch_words::<6>(2)]);
/// let rng = Rng::stream(1, Purpose::Training, 0, 1);
/// let rate = LearningRate::from_real(0.5);
/// let mut trainer =
///     Trainer::try_new(&mut params, &samples, &mut work, &mut scratch, rate, rng).unwrap();
/// let first = trainer.epoch();
/// for _ in 0..20 {
///     trainer.epoch();
/// }
/// assert!(trainer.epoch().mean_loss() < first.mean_loss());
/// ```
#[derive(Debug)]
pub struct Trainer<'a, S, const IN: usize, const HID: usize, const OUT: usize, P = Alone> {
    params: &'a mut Params<IN, HID, OUT>,
    samples: &'a S,
    work: &'a mut Work<HID, OUT>,
    helper: Option<Helper<'a, P, HID, OUT>>,
    errors: &'a mut [ErrorRow<HID>],
    rng: Rng,
    rate: LearningRate,
    /// Converts a sum of the second pass to a step of W1.
    factor: RowFactor,
    /// Number of error rows of this epoch whose sum for one pixel fits 32 bits.
    exact: usize,
    place: Place,
}

impl<'a, S: Samples<IN>, const IN: usize, const HID: usize, const OUT: usize>
    Trainer<'a, S, IN, HID, OUT>
{
    /// Prepares training; `scratch` needs [`super::scratch_words`] words for the samples, and
    /// `rng` is the stream of [`crate::rng::Purpose::Training`] of this client and round.
    ///
    /// # Errors
    /// If there are no samples, more than fit, or one whose label is not a class.
    pub fn try_new(
        params: &'a mut Params<IN, HID, OUT>,
        samples: &'a S,
        work: &'a mut Work<HID, OUT>,
        scratch: &'a mut [u32],
        rate: LearningRate,
        rng: Rng,
    ) -> Result<Self, TrainError> {
        let errors = error_rows(scratch);
        // Sums over samples are proved to fit for 16 bits of them.
        let room = errors.len().min(usize::from(u16::MAX));
        match samples.len() {
            0 => return Err(TrainError::NoSamples),
            samples if samples > room => {
                return Err(TrainError::TooManySamples { samples, room });
            }
            _ => {}
        }
        for sample in 0..samples.len() {
            let label = samples.label(sample);
            if usize::from(label) >= params.shape().classes {
                return Err(TrainError::Label { sample, label });
            }
        }
        let errors = &mut errors[..samples.len()];
        Ok(Self {
            params,
            samples,
            work,
            helper: None,
            errors,
            rng,
            rate,
            // The sum is in units of 2^-12 / 255, a weight in units of 2^-14.
            factor: Factor::new(rate, 4, 255, samples.len() as u32).for_row(),
            exact: 0,
            place: Place::Sample(0),
        })
    }

    /// Gives a helper, if there is one, its share of every epoch.
    #[must_use]
    pub fn with_helper<P: Partner>(
        self,
        helper: Option<Helper<'a, P, HID, OUT>>,
    ) -> Trainer<'a, S, IN, HID, OUT, P> {
        Trainer {
            params: self.params,
            samples: self.samples,
            work: self.work,
            helper,
            errors: self.errors,
            rng: self.rng,
            rate: self.rate,
            factor: self.factor,
            exact: 0,
            place: Place::Sample(0),
        }
    }
}

impl<S: Samples<IN>, const IN: usize, const HID: usize, const OUT: usize, P: Partner>
    Trainer<'_, S, IN, HID, OUT, P>
{
    /// Works on until about `budget` rows are summed, at least one sample or one block of four
    /// pixels (eight samples or one block a core with a helper), or until the epoch ends. A row takes
    /// 200 cycles on a Cortex-M0+ with 50 hidden units; a Cortex-M4 counts two neighbouring rows of
    /// W1 as one, and of two cores those of the slower count. However an epoch is cut into steps, the
    /// outcome is the same.
    pub fn step(&mut self, budget: u32) -> Step {
        let mut done = 0;
        loop {
            match self.place {
                Place::Sample(first) => {
                    if first == 0 {
                        self.begin();
                    }
                    let (rows, next) = self.learn(first);
                    done += rows;
                    self.place = if next < self.errors.len() {
                        Place::Sample(next)
                    } else {
                        self.exact = exact_rows(self.errors);
                        Place::Pixel(0)
                    };
                }
                Place::Pixel(first) => {
                    let (rows, next) = self.descend(first);
                    done += rows;
                    if next >= self.params.shape().inputs {
                        self.finish();
                        self.place = Place::Sample(0);
                        return Step::Done(self.result());
                    }
                    self.place = Place::Pixel(next);
                }
            }
            if done >= budget {
                return Step::More;
            }
        }
    }

    /// Runs to the end of the epoch.
    pub fn epoch(&mut self) -> EpochResult {
        loop {
            if let Step::Done(result) = self.step(u32::MAX) {
                return result;
            }
        }
    }

    /// Returns the parameters; between epochs, the trained ones.
    pub fn params(&self) -> &Params<IN, HID, OUT> {
        self.params
    }

    fn begin(&mut self) {
        self.work.begin();
        if let Some(helper) = &mut self.helper {
            helper.work.begin();
        }
    }

    /// First pass of the next samples; returns how many rows were summed, and the sample after them.
    fn learn(&mut self, first: usize) -> (u32, usize) {
        let Self {
            params,
            samples,
            work,
            ..
        } = self;
        let (params, samples) = (&**params, *samples);
        let left = &mut self.errors[first..];
        let Some(helper) = &mut self.helper else {
            return (
                work.learn(params, samples, first, &mut left[..1]),
                first + 1,
            );
        };
        let both = left.len().min(2 * PORTION);
        let (ours, theirs) = left[..both].split_at_mut(both.div_ceil(2));
        let (second, mut rows) = (first + ours.len(), (0, 0));
        let other = &mut *helper.work;
        helper.partner.join(
            || rows.0 = work.learn(params, samples, first, ours),
            || rows.1 = other.learn(params, samples, second, theirs),
        );
        (rows.0.max(rows.1), first + both)
    }

    /// Second pass of the next pixels; returns how many rows were summed, and the pixel after them.
    fn descend(&mut self, first: usize) -> (u32, usize) {
        let (samples, errors, exact) = (self.samples, &*self.errors, self.exact);
        let (work, second) = (&mut *self.work, first + BLOCK);
        let rows = match &mut self.helper {
            Some(helper) if second < self.params.shape().inputs => {
                let other = &mut *helper.work;
                let mut rows = (0, 0);
                helper.partner.join(
                    || rows.0 = work.gather(samples, first, errors, exact),
                    || rows.1 = other.gather(samples, second, errors, exact),
                );
                rows.0.max(rows.1)
            }
            _ => {
                let rows = work.gather(samples, first, errors, exact);
                take_steps(self.params, first, work, self.factor, &mut self.rng);
                return (rows, second);
            }
        };
        take_steps(self.params, first, work, self.factor, &mut self.rng);
        if let Some(helper) = &self.helper {
            take_steps(self.params, second, helper.work, self.factor, &mut self.rng);
        }
        (rows, second + BLOCK)
    }

    fn finish(&mut self) {
        let (b1, w2, b2) = (
            self.factor(4 * 255, 1),
            self.factor(1, 1 << 10),
            self.factor(1 << 10, 1),
        );
        let (work, other) = (
            &*self.work,
            self.helper.as_ref().map(|helper| &*helper.work),
        );
        let shape = self.params.shape();
        let both =
            |gradient: &dyn Fn(&Work<HID, OUT>) -> i64| gradient(work) + other.map_or(0, gradient);
        let mut step = |tensor, index, factor: Factor, gradient| {
            let step = factor.wide_step(gradient, self.rng.next_u32() as u16);
            let old = self.params.get(tensor, index);
            self.params.set(tensor, index, old.saturating_sub(step));
        };
        let Shape {
            hidden, classes, ..
        } = shape;
        for unit in 0..hidden {
            let gradient = both(&|work| i64::from(work.db1[unit]));
            step(Tensor::B1, unit, b1, gradient);
        }
        for index in 0..hidden * classes {
            let (unit, class) = (index / classes, index % classes);
            step(Tensor::W2, index, w2, both(&|work| work.dw2(unit, class)));
        }
        for class in 0..classes {
            let gradient = both(&|work| i64::from(work.db2[class]));
            step(Tensor::B2, class, b2, gradient);
        }
    }

    /// Returns the result of this epoch's samples.
    fn result(&self) -> EpochResult {
        let mut result = self.work.result;
        if let Some(helper) = &self.helper {
            result.add(&helper.work.result);
        }
        result
    }

    /// Returns rate / N times the ratio of a gradient's unit to its parameter's.
    fn factor(&self, numerator: u32, denominator: u32) -> Factor {
        Factor::new(self.rate, numerator, denominator, self.samples.len() as u32)
    }
}

/// Steps the weights of a block of pixels whose gradients were gathered.
fn take_steps<const IN: usize, const HID: usize, const OUT: usize>(
    params: &mut Params<IN, HID, OUT>,
    first: usize,
    work: &Work<HID, OUT>,
    factor: RowFactor,
    rng: &mut Rng,
) {
    let hidden = params.shape().hidden;
    for (pixel, (gradient, &touched)) in (first..).zip(work.sums.iter().zip(&work.touched)) {
        if touched != 0 {
            kernel::step_row(&mut params.w1, (pixel, hidden), gradient, factor, rng);
        }
    }
}
