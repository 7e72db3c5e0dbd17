//! Simulated clients that train in integers, by the code of the firmware.
//!
//! Parameters are passed as real numbers in the order of the float perceptron and of the wire. The
//! conversion from and to device units is exact (weights are multiples of 2^-14 and 2^-12).

mod model;

use gleaner_shared::mlp::sample::Slices;
use gleaner_shared::mlp::{
    EpochResult, LearningRate, Params, Shape, TrainError, Trainer, Work, evaluate, scratch_words,
};
use gleaner_shared::rng::Rng;

pub use self::model::{FixedModel, TooLarge};
use self::model::{Room, within};
use super::Evaluation;
use crate::data::Samples;

/// A simulated board with its own samples.
#[derive(Clone, Debug)]
pub struct FixedClient {
    /// A zeroed network of the right sizes.
    blank: FixedModel,
    /// All samples, each padded with zeros to the inputs of the network's memory.
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

impl FixedClient {
    /// Makes a client that trains a network of these sizes on the samples `indices` of a set.
    ///
    /// # Errors
    /// When the network is too large.
    ///
    /// # Panics
    /// When the bytes of a sample are not the inputs of the network, or an index is beyond the set.
    pub fn new(samples: &Samples, indices: &[u32], shape: Shape) -> Result<Self, TooLarge> {
        let (inputs, blank) = (shape.inputs, FixedModel::new(shape)?);
        assert_eq!(
            samples.images.len(),
            samples.len() * inputs,
            "samples are not of {inputs} bytes"
        );
        let stride = blank.stride();
        let mut pixels = vec![0; indices.len() * stride];
        for (to, &at) in pixels.chunks_exact_mut(stride).zip(indices) {
            to[..inputs].copy_from_slice(&samples.images[at as usize * inputs..][..inputs]);
        }
        let labels = indices.iter().map(|&at| samples.labels[at as usize]);
        Ok(Self {
            blank,
            pixels,
            labels: labels.collect(),
        })
    }

    /// Returns the number of samples D_i.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.labels.len()
    }

    /// Trains `epochs` full-batch steps in place and returns loss and accuracy before each.
    /// `rng` is the stream of [`gleaner_shared::rng::Purpose::Training`] of this client and
    /// round, which decides the stochastic rounding.
    ///
    /// # Errors
    /// When there are no samples or too many, or a label is not a class.
    pub fn train(
        &self,
        model: &mut FixedModel,
        epochs: u32,
        rate: LearningRate,
        rng: Rng,
    ) -> Result<Vec<EpochResult>, TrainError> {
        within!(&mut model.0, params => self.train_in(params, epochs, rate, rng))
    }

    fn train_in<const IN: usize, const HID: usize, const OUT: usize>(
        &self,
        params: &mut Params<IN, HID, OUT>,
        epochs: u32,
        rate: LearningRate,
        rng: Rng,
    ) -> Result<Vec<EpochResult>, TrainError> {
        let samples = self.slices::<IN>();
        let mut work = Box::new(Work::new());
        let mut scratch = vec![0; scratch_words::<HID>(self.samples())];
        let mut trainer = Trainer::try_new(params, &samples, &mut work, &mut scratch, rate, rng)?;
        Ok((0..epochs).map(|_| trainer.epoch()).collect())
    }

    /// As [`FixedClient::train`], from and to real numbers; returns the loss before each step.
    ///
    /// # Errors
    /// As [`FixedClient::train`].
    pub fn descend(
        &self,
        parameters: &mut [f32],
        epochs: u32,
        learning_rate: f32,
        rng: Rng,
    ) -> Result<Vec<f64>, TrainError> {
        let mut model = self.blank.clone();
        model.read_real(parameters);
        let rate = LearningRate::from_real(f64::from(learning_rate));
        let results = self.train(&mut model, epochs, rate, rng)?;
        parameters.copy_from_slice(&model.real());
        Ok(results
            .iter()
            .map(|result| evaluation(result).loss)
            .collect())
    }

    /// Evaluates parameters by the forward pass of the firmware.
    #[must_use]
    pub fn evaluate(&self, model: &FixedModel) -> Evaluation {
        within!(&model.0, params => self.evaluate_in(params))
    }

    fn evaluate_in<const IN: usize, const HID: usize, const OUT: usize>(
        &self,
        params: &Params<IN, HID, OUT>,
    ) -> Evaluation {
        let mut work = Box::new(Work::<HID, OUT>::new());
        let (samples, all) = (self.slices::<IN>(), 0..self.samples());
        evaluation(&evaluate(params, &samples, all, &mut work.pass))
    }

    fn slices<const IN: usize>(&self) -> Slices<'_, IN> {
        Slices {
            pixels: self.pixels.as_chunks().0,
            labels: &self.labels,
        }
    }
}

fn evaluation(result: &EpochResult) -> Evaluation {
    let samples = result.samples as usize;
    Evaluation {
        loss: result.loss_sum as f64 / 65_536.0 / samples.max(1) as f64,
        correct: result.correct as usize,
        samples,
    }
}

#[cfg(test)]
mod tests;
