//! What a model says of one sample: its class, and how sure it is.

use super::forward::Pass;
use super::params::Params;
use super::softmax::most_likely;

/// The class of a sample, by a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The class with the largest sum; the first of equals.
    pub class: u8,
    /// Its share of the softmax, times 2^16; one is 65,536.
    pub confidence_q16: u32,
}

/// Classifies `pixels` by the forward code that trains, so that every core says the same.
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
