//! The tensors of the flat vector, and the transposed copies that the backward pass reads.

use std::ops::Range;

use super::{CLASSES, DENSE1, DENSE2, FEATURES};
use crate::train::aligned::Aligned;
use crate::train::kernel::{CHANNELS, TAPS, filters};
use crate::train::softmax::LANES;

/// Values of a window of the first convolution, and of one of its rows.
pub(super) const PATCH1: usize = 5 * WINDOW_ROW1;
pub(super) const WINDOW_ROW1: usize = 5 * 3;
/// Values of a window of the second convolution.
pub(super) const PATCH2: usize = 5 * 5 * CHANNELS;

/// The range of each tensor in the flat vector.
pub(super) struct Layout {
    pub conv1: Range<usize>,
    pub conv1_bias: Range<usize>,
    pub conv2: Range<usize>,
    pub conv2_bias: Range<usize>,
    pub dense1: Range<usize>,
    pub dense1_bias: Range<usize>,
    pub dense2: Range<usize>,
    pub dense2_bias: Range<usize>,
    pub dense3: Range<usize>,
    pub dense3_bias: Range<usize>,
}

/// The layout that `Cnn::tensors` describes.
pub(super) const LAYOUT: Layout = {
    const fn after(range: &Range<usize>, length: usize) -> Range<usize> {
        range.end..range.end + length
    }
    let conv1 = 0..PATCH1 * CHANNELS;
    let conv1_bias = after(&conv1, CHANNELS);
    let conv2 = after(&conv1_bias, PATCH2 * CHANNELS);
    let conv2_bias = after(&conv2, CHANNELS);
    let dense1 = after(&conv2_bias, FEATURES * DENSE1);
    let dense1_bias = after(&dense1, DENSE1);
    let dense2 = after(&dense1_bias, DENSE1 * DENSE2);
    let dense2_bias = after(&dense2, DENSE2);
    let dense3 = after(&dense2_bias, DENSE2 * CLASSES);
    let dense3_bias = after(&dense3, CLASSES);
    Layout {
        conv1,
        conv1_bias,
        conv2,
        conv2_bias,
        dense1,
        dense1_bias,
        dense2,
        dense2_bias,
        dense3,
        dense3_bias,
    }
};

/// The number of parameters of the network.
pub(super) const PARAMETERS: usize = LAYOUT.dense3_bias.end;

/// The parameters, with the filters of the convolutions also at Winograd's points, and the last layer
/// padded to whole vectors.
pub(super) struct Weights<'a> {
    /// The matrix of every point of the rows.
    pub conv1: Aligned,
    pub conv1_bias: &'a [f32],
    /// The matrix of every point of the rows and point of the columns.
    pub conv2: Aligned,
    pub conv2_bias: &'a [f32],
    pub dense1: &'a [f32],
    pub dense1_bias: &'a [f32],
    pub dense2: &'a [f32],
    pub dense2_bias: &'a [f32],
    pub dense3: Aligned,
    pub dense3_bias: [f32; LANES],
}

impl<'a> Weights<'a> {
    /// # Panics
    /// When there are not [`PARAMETERS`] parameters.
    pub(super) fn new(parameters: &'a [f32]) -> Self {
        assert_eq!(
            parameters.len(),
            PARAMETERS,
            "not the parameters of this network"
        );
        let mut dense3 = Aligned::zeros(DENSE2 * LANES);
        let rows = parameters[LAYOUT.dense3].chunks_exact(CLASSES);
        for (to, from) in dense3.chunks_exact_mut(LANES).zip(rows) {
            to[..CLASSES].copy_from_slice(from);
        }
        let mut dense3_bias = [0.0; LANES];
        dense3_bias[..CLASSES].copy_from_slice(&parameters[LAYOUT.dense3_bias]);
        let double =
            |values: &[f32]| -> Vec<f64> { values.iter().map(|&v| f64::from(v)).collect() };
        let single = |values: Vec<f64>| {
            let mut copy = Aligned::zeros(values.len());
            for (to, from) in copy.iter_mut().zip(values) {
                *to = from as f32;
            }
            copy
        };
        let conv1 = filters(&double(&parameters[LAYOUT.conv1]), PATCH1 / TAPS * CHANNELS);
        let conv2 = filters(&double(&parameters[LAYOUT.conv2]), PATCH2 / TAPS * CHANNELS);
        let conv2 = filters(&conv2, CHANNELS * CHANNELS);
        Self {
            conv1: single(conv1),
            conv1_bias: &parameters[LAYOUT.conv1_bias],
            conv2: single(conv2),
            conv2_bias: &parameters[LAYOUT.conv2_bias],
            dense1: &parameters[LAYOUT.dense1],
            dense1_bias: &parameters[LAYOUT.dense1_bias],
            dense2: &parameters[LAYOUT.dense2],
            dense2_bias: &parameters[LAYOUT.dense2_bias],
            dense3,
            dense3_bias,
        }
    }
}

/// The transposed matrices of the layers above the first convolution.
pub(super) struct Turned {
    /// One window per output channel.
    pub conv2: Aligned,
    pub dense1: Aligned,
    pub dense2: Aligned,
    pub dense3: Aligned,
}

impl Turned {
    pub(super) fn new(parameters: &[f32]) -> Self {
        let turn = |range, width| transpose(&parameters[range], width);
        Self {
            conv2: turn(LAYOUT.conv2, CHANNELS),
            dense1: turn(LAYOUT.dense1, DENSE1),
            dense2: turn(LAYOUT.dense2, DENSE2),
            dense3: turn(LAYOUT.dense3, CLASSES),
        }
    }
}

/// Transposes a matrix stored in rows of `width` values.
fn transpose(matrix: &[f32], width: usize) -> Aligned {
    let height = matrix.len() / width;
    let mut turned = Aligned::zeros(matrix.len());
    // Square tiles keep both sides in the cache.
    const TILE: usize = 16;
    for top in (0..height).step_by(TILE) {
        for left in (0..width).step_by(TILE) {
            for column in left..(left + TILE).min(width) {
                for row in top..(top + TILE).min(height) {
                    turned[column * height + row] = matrix[row * width + column];
                }
            }
        }
    }
    turned
}
