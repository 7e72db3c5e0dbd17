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

use super::descent::{Factor, LearningRate, RowFactor};
use super::forward::Pass;
use super::kernel::{self, ErrorRow};
use super::list::List;
use super::params::{Params, Tensor};
use super::sample::Samples;
use super::scratch::error_rows;
use super::softmax::{Verdict, softmax_error};
use crate::rng::Rng;

/// What an epoch or an evaluation found: everything before the step was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpochResult {
    /// Sum of cross-entropies in nats, units of 2^-16.
    pub loss_sum: u64,
    /// How many samples were classified rightly.
    pub correct: u32,
    /// How many samples there were.
    pub samples: u32,
}

impl EpochResult {
    /// Returns the mean cross-entropy in units of 2^-16; zero without samples.
    #[must_use]
    pub const fn mean_loss(&self) -> u32 {
        match self.loss_sum.checked_div(self.samples as u64) {
            Some(mean) => mean as u32,
            None => 0,
        }
    }

    /// Adds another part's counts.
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

/// What a call of [`Trainer::step`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The epoch goes on.
    More,
    /// The epoch is complete and the parameters have moved; the next call begins another.
    Done(EpochResult),
}

/// Why training cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TrainError {
    /// There is nothing to train on.
    NoSamples,
    /// The scratch memory holds error rows for fewer samples than there are.
    TooManySamples {
        /// Samples given.
        samples: usize,
        /// Samples the scratch memory is good for.
        room: usize,
    },
    /// A label is not a class of the network.
    Label {
        /// The first such sample.
        sample: usize,
        /// Its label.
        label: u8,
    },
}

impl core::fmt::Display for TrainError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoSamples => write!(f, "there are no samples to train on"),
            Self::TooManySamples { samples, room } => write!(
                f,
                "{samples} samples, but the scratch memory is good for {room}: give it \
                 scratch_words::<HID>({samples}) words"
            ),
            Self::Label { sample, label } => {
                write!(f, "sample {sample} has label {label}, which is not a class")
            }
        }
    }
}

impl core::error::Error for TrainError {}

/// How many pixels the second pass gathers at once.
const BLOCK: usize = 4;
/// How many error rows are listed for a pixel before they are summed.
const ROOM: usize = kernel::LIST_LIMIT;
/// How many samples are gathered between two looks at how full the lists are.
const STRETCH: usize = 32;

/// Working memory of a trainer beside its scratch: about 11 KB for 784-50-10.
#[derive(Clone, Debug)]
pub struct Work<const HID: usize, const OUT: usize> {
    /// Memory of the forward pass, free for [`super::evaluate()`] between epochs.
    pub pass: Pass<HID, OUT>,
    lists: [List<ROOM>; BLOCK],
    sums: [[i32; HID]; BLOCK],
    dw2: [[i32; OUT]; HID],
    /// What was folded out of `dw2`, in units of 2^16.
    dw2_folded: [[i32; OUT]; HID],
    db1: [i32; HID],
    db2: [i32; OUT],
}

impl<const HID: usize, const OUT: usize> Work<HID, OUT> {
    /// Returns cleared memory, ready for a static.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            pass: Pass::new(),
            lists: [const { List::EMPTY }; BLOCK],
            sums: [[0; HID]; BLOCK],
            dw2: [[0; OUT]; HID],
            dw2_folded: [[0; OUT]; HID],
            db1: [0; HID],
            db2: [0; OUT],
        }
    }

    /// Leaves 16 bits of every sum of dW2 and adds the rest to `dw2_folded`: 2^16 samples of
    /// 2^27 at most come to 2^27 units there.
    fn fold_dw2(&mut self) {
        let parts = self.dw2.as_flattened_mut().iter_mut();
        for (folded, part) in self.dw2_folded.as_flattened_mut().iter_mut().zip(parts) {
            *folded += *part >> 16;
            *part &= 0xFFFF;
        }
    }
}

impl<const HID: usize, const OUT: usize> Default for Work<HID, OUT> {
    fn default() -> Self {
        Self::new()
    }
}

/// Where in an epoch a trainer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Sample(usize),
    Pixel(usize),
}

/// Trains parameters in place, epoch after epoch.
#[derive(Debug)]
pub struct Trainer<'a, S, const IN: usize, const HID: usize, const OUT: usize> {
    params: &'a mut Params<IN, HID, OUT>,
    samples: &'a S,
    work: &'a mut Work<HID, OUT>,
    errors: &'a mut [ErrorRow<HID>],
    rng: Rng,
    rate: LearningRate,
    /// What turns a sum of the second pass into a step of W1.
    factor: RowFactor,
    place: Place,
    result: EpochResult,
    /// The sum of the largest activations since dW2 was last folded.
    unfolded: u32,
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
            if usize::from(label) >= OUT {
                return Err(TrainError::Label { sample, label });
            }
        }
        let errors = &mut errors[..samples.len()];
        Ok(Self {
            params,
            samples,
            work,
            errors,
            rng,
            rate,
            // The sum is in units of 2^-12 / 255, a weight in units of 2^-14.
            factor: Factor::new(rate, 4, 255, samples.len() as u32).for_row(),
            place: Place::Sample(0),
            result: EpochResult::default(),
            unfolded: 0,
        })
    }

    /// Works on until about `budget` rows are summed, at least one sample or one block of four
    /// pixels, or until the epoch ends. A row takes 200 cycles on a Cortex-M0+ with 50 hidden
    /// units; a Cortex-M4 counts two neighbouring rows of W1 as one. However an epoch is cut into steps, the outcome is the same.
    pub fn step(&mut self, budget: u32) -> Step {
        let mut done = 0;
        loop {
            match self.place {
                Place::Sample(index) => {
                    if index == 0 {
                        self.begin();
                    }
                    done += self.learn(index);
                    self.place = match index + 1 {
                        next if next < self.samples.len() => Place::Sample(next),
                        _ => Place::Pixel(0),
                    };
                }
                Place::Pixel(first) => {
                    done += self.descend(first);
                    let next = first + BLOCK;
                    if next >= IN {
                        self.finish();
                        self.place = Place::Sample(0);
                        return Step::Done(self.result);
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

    /// Returns the parameters as they are; between epochs, the trained ones.
    #[must_use]
    pub fn params(&self) -> &Params<IN, HID, OUT> {
        self.params
    }

    fn begin(&mut self) {
        let work = &mut *self.work;
        work.dw2.as_flattened_mut().fill(0);
        work.dw2_folded.as_flattened_mut().fill(0);
        work.db1.fill(0);
        work.db2.fill(0);
        self.unfolded = 0;
        self.result = EpochResult::default();
    }

    /// First pass of one sample; returns how many rows were summed.
    fn learn(&mut self, index: usize) -> u32 {
        let rows = (self.work.pass).forward(self.params, self.samples.pixels(index));
        let label = usize::from(self.samples.label(index));
        self.result
            .count(softmax_error(&mut self.work.pass.output, label));

        // |h d2| is at most h 2^12, so sums of dW2 fit while the activations add up to less than
        // 2^19 - 16 and 16 bits are left of what was folded.
        let largest = self.work.pass.largest;
        if self.unfolded + largest >= (1 << 19) - 16 {
            self.work.fold_dw2();
            self.unfolded = 0;
        }
        self.unfolded += largest;
        self.backward(index);
        rows
    }

    /// Adds a sample's part of dW2, db2 and db1, and keeps its row of hidden errors:
    /// dW2_jk = h_j d2_k, d1_j = \[h_j > 0\] sum_k W2_jk d2_k.
    fn backward(&mut self, index: usize) {
        let work = &mut *self.work;
        let output = &work.pass.output;
        for (sum, &error) in work.db2.iter_mut().zip(output) {
            *sum += error;
        }
        let row = &mut self.errors[index];
        // Errors are in units of 2^-24. The least power of two with which the largest rounds to
        // at most 127 units of 2^-12:
        let units = &mut work.pass.units;
        let largest = kernel::backward(units, output, &self.params.w2, &mut work.dw2);
        let mut shift = 0;
        while shift < 7 && (largest + (1 << (11 + shift))) >> (12 + shift) > 127 {
            shift += 1;
        }
        if largest < 1 << 11 {
            row.clear();
        } else {
            kernel::round_errors(units, shift, row, &mut work.db1);
        }
    }

    /// Second pass of the pixels from `first` on; returns how many rows were summed.
    fn descend(&mut self, first: usize) -> u32 {
        let Work { lists, sums, .. } = &mut *self.work;
        sums.as_flattened_mut().fill(0);
        let mut touched = [0; BLOCK];
        let mut sum = |lane: usize, list: &mut List<ROOM>| {
            kernel::sum_errors(self.errors, list.entries(), &mut sums[lane]);
            touched[lane] += list.entries().len() as u32;
            list.clear();
        };
        let count = self.errors.len();
        let block = (self.samples.block()).and_then(|block| block.get(..count));
        let mut next = 0;
        while next < count {
            for (lane, list) in lists.iter_mut().enumerate() {
                if list.lacks_room(STRETCH) {
                    sum(lane, list);
                }
            }
            if let Some(images) = block {
                next =
                    kernel::list_block::<_, _, _, STRETCH>(images, first, self.errors, next, lists);
            } else {
                let end = count.min(next + STRETCH);
                for index in next..end {
                    let image = self.samples.pixels(index);
                    kernel::list_errors(image, first, &self.errors[index], index, lists);
                }
                next = end;
            }
        }
        for (lane, list) in lists.iter_mut().enumerate() {
            sum(lane, list);
        }
        for (lane, touched) in touched.into_iter().enumerate() {
            if touched != 0 {
                let (w1, rng) = (&mut self.params.w1, &mut self.rng);
                kernel::step_row(w1, first + lane, &sums[lane], self.factor, rng);
            }
        }
        touched.iter().sum()
    }

    /// Steps b1, W2 and b2.
    fn finish(&mut self) {
        let (b1, w2, b2) = (
            self.factor(4 * 255, 1),
            self.factor(1, 1 << 10),
            self.factor(1 << 10, 1),
        );
        let work = &*self.work;
        let mut step = |tensor, index, factor: Factor, gradient| {
            let step = factor.wide_step(gradient, self.rng.next_u32() as u16);
            let old = self.params.get(tensor, index);
            self.params.set(tensor, index, old.saturating_sub(step));
        };
        for (index, &gradient) in work.db1.iter().enumerate() {
            step(Tensor::B1, index, b1, i64::from(gradient));
        }
        let parts = work.dw2.as_flattened().iter();
        for (index, (&folded, &part)) in
            (work.dw2_folded.as_flattened().iter().zip(parts)).enumerate()
        {
            let gradient = (i64::from(folded) << 16) + i64::from(part);
            step(Tensor::W2, index, w2, gradient);
        }
        for (index, &gradient) in work.db2.iter().enumerate() {
            step(Tensor::B2, index, b2, i64::from(gradient));
        }
    }

    /// Returns rate / N times the ratio of a gradient's unit to its parameter's.
    fn factor(&self, numerator: u32, denominator: u32) -> Factor {
        Factor::new(self.rate, numerator, denominator, self.samples.len() as u32)
    }
}
