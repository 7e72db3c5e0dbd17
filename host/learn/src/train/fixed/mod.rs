//! Simulated clients that train in integers, by the very code of the firmware.
//!
//! Parameters cross this boundary as real numbers in the order the float perceptron uses, which
//! is the order on the wire; a client that starts from a model in device units and hands one
//! back loses nothing on the way (weights are multiples of 2^-14 and 2^-12).

use gleaner_shared::mlp::sample::Slices;
use gleaner_shared::mlp::{
    EpochResult, LearningRate, PaperParams, Samples as _, TrainError, Trainer, Work, evaluate,
    scratch_words,
};
use gleaner_shared::rng::Rng;

use super::Evaluation;
use crate::data::Samples;

const PIXELS: usize = 784;
const HIDDEN: usize = 50;

/// A simulated board with its own samples.
#[derive(Clone, Debug)]
pub struct FixedClient {
    pixels: Vec<[u8; PIXELS]>,
    labels: Vec<u8>,
}

impl FixedClient {
    /// Gives the client the samples `indices` of a set.
    ///
    /// # Panics
    /// When the images are not of 784 pixels or an index is beyond the set.
    #[must_use]
    pub fn new(samples: &Samples, indices: &[u32]) -> Self {
        let (images, rest) = samples.images.as_chunks::<PIXELS>();
        assert!(
            rest.is_empty() && images.len() == samples.len(),
            "images are not of 784 pixels"
        );
        Self {
            pixels: indices.iter().map(|&at| images[at as usize]).collect(),
            labels: indices
                .iter()
                .map(|&at| samples.labels[at as usize])
                .collect(),
        }
    }

    /// Returns D_i.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.slices().len()
    }

    /// Trains `epochs` full-batch steps in place and returns what each found before its step.
    /// `rng` is the stream of [`gleaner_shared::rng::Purpose::Training`] of this client and
    /// round, which decides the stochastic rounding.
    ///
    /// # Errors
    /// When there are no samples or too many, or a label is not a class.
    pub fn train(
        &self,
        parameters: &mut PaperParams,
        epochs: u32,
        rate: LearningRate,
        rng: Rng,
    ) -> Result<Vec<EpochResult>, TrainError> {
        let samples = self.slices();
        let mut work = Box::new(Work::new());
        let mut scratch = vec![0; scratch_words::<HIDDEN>(samples.len())];
        let mut trainer =
            Trainer::try_new(parameters, &samples, &mut work, &mut scratch, rate, rng)?;
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
        let mut fixed = Box::new(PaperParams::new());
        fixed.read_f32(parameters);
        let rate = LearningRate::from_real(f64::from(learning_rate));
        let results = self.train(&mut fixed, epochs, rate, rng)?;
        fixed.write_f32(parameters);
        Ok(results
            .iter()
            .map(|result| evaluation(result).loss)
            .collect())
    }

    /// Evaluates parameters by the forward pass of the firmware.
    #[must_use]
    pub fn evaluate(&self, parameters: &PaperParams) -> Evaluation {
        let mut work = Box::new(Work::<HIDDEN, 10>::new());
        let samples = self.slices();
        evaluation(&evaluate(
            parameters,
            &samples,
            0..samples.len(),
            &mut work.pass,
        ))
    }

    fn slices(&self) -> Slices<'_, PIXELS> {
        Slices {
            pixels: &self.pixels,
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
mod tests {
    use gleaner_shared::rng::Purpose;

    use super::*;
    use crate::data::embedded;
    use crate::train::{Kernel, Mlp, Model};

    #[test]
    fn integers_follow_the_float_network() {
        let set = embedded::mnist_subset().unwrap();
        let indices: Vec<u32> = (0..300).collect();
        let model = Mlp::paper(Kernel::available()[0]);
        let float = model.objective(&set.train, &indices);
        let fixed = FixedClient::new(&set.train, &indices);
        let mut by_float = model.initialise(4);
        let mut by_fixed = by_float.clone();
        let rng = Rng::stream(4, Purpose::Training, 0, 1);
        let float_losses = float.descend(&mut by_float, 20, 0.1);
        let fixed_losses = fixed.descend(&mut by_fixed, 20, 0.1, rng).unwrap();
        for (float, fixed) in float_losses.iter().zip(&fixed_losses) {
            assert!((float / fixed - 1.0).abs() < 0.01, "{float} {fixed}");
        }
        let in_float = float.evaluate(&by_fixed);
        let mut parameters = Box::new(PaperParams::new());
        parameters.read_f32(&by_fixed);
        let in_integers = fixed.evaluate(&parameters);
        assert!((in_float.loss / in_integers.loss - 1.0).abs() < 0.01);
        assert_eq!(in_integers.samples, 300);
    }

    #[test]
    fn a_model_in_device_units_crosses_unchanged() {
        let mut parameters = Box::new(PaperParams::new());
        parameters.initialise(9);
        let mut real = vec![0.0; PaperParams::COUNT];
        parameters.write_f32(&mut real);
        let mut back = Box::new(PaperParams::new());
        back.read_f32(&real);
        assert_eq!(back, parameters);
    }

    #[test]
    fn a_client_without_samples_says_so() {
        let none = FixedClient::new(&Samples::default(), &[]);
        let rng = Rng::stream(0, Purpose::Training, 0, 0);
        let said = none
            .descend(&mut vec![0.0; PaperParams::COUNT], 1, 0.1, rng)
            .unwrap_err();
        assert_eq!(said, TrainError::NoSamples);
    }
}
