//! Classifies one sample: its class and the confidence of the model.

use super::forward::Pass;
use super::params::Params;
use super::softmax::most_likely;

/// The class that a model gives a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The class with the largest output; the first of equals.
    pub class: u8,
    /// Softmax of that class, times 2^16.
    pub confidence_q16: u32,
}

/// Classifies `pixels` with the forward pass of training, so that every core gives the same result.
pub fn classify<const IN: usize, const HID: usize, const OUT: usize>(
    params: &Params<IN, HID, OUT>,
    pixels: &[u8; IN],
    pass: &mut Pass<HID, OUT>,
) -> Guess {
    const { assert!(OUT <= 256, "a class is a byte") };
    pass.forward(params, pixels, &[]);
    let (class, confidence_q16) = most_likely(&pass.output[..params.shape().classes]);
    Guess {
        class: class as u8,
        confidence_q16,
    }
}
