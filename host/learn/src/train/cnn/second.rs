//! The second convolution, from 64 channels to 64: by its definition two thirds of all multiplications.
//!
//! Winograd's minimal filtering in both directions computes squares of 3 x 3 outputs from squares of 7 x 7
//! inputs, so nine squares cover the output. At each of 49 points the squares of all images of a group,
//! with their channels, are one left factor, and the filter at that point is the right one: 49 products
//! where the definition has 225.
//!
//! Rounding errors: on smooth images those of direct sums (root mean square 6e-7 of that of the outputs, the
//! largest 5e-6), and on white noise three times those; a test compares the former.

use super::convolution::{CONV2, POOLED1_ROW, Trace};
use super::first::begin;
use super::weights::Weights;
use crate::train::aligned::Aligned;
use crate::train::kernel::{
    CHANNELS, Kernel, Left, ONE, OUTPUTS, POINTS, gather, multiply, spread,
};

/// Squares of outputs in a row of the output, and in all.
const ACROSS: usize = CONV2 / OUTPUTS;
const SQUARES: usize = ACROSS * ACROSS;
const _: () = assert!(ACROSS * OUTPUTS == CONV2);
/// Values of a square's row of outputs.
const SQUARE_ROW: usize = OUTPUTS * CHANNELS;

/// The layer with its working memory for a group of images.
pub(super) struct Second<'a> {
    kernel: Kernel,
    weights: &'a Weights<'a>,
    /// Three output rows of an image, of which the rows are at the points.
    lines: Aligned,
    /// The inputs of every square at every point of rows and columns, and the products there.
    inputs: Aligned,
    products: Aligned,
    /// The products of one square, of which the columns are gathered.
    columns: Aligned,
    output: Aligned,
}

impl<'a> Second<'a> {
    pub(super) fn new(kernel: Kernel, weights: &'a Weights<'a>, group: usize) -> Self {
        let all = POINTS * POINTS * group * SQUARES * CHANNELS;
        Self {
            kernel,
            weights,
            lines: Aligned::zeros(POINTS * POOLED1_ROW),
            inputs: Aligned::zeros(all),
            products: Aligned::zeros(all),
            columns: Aligned::zeros(POINTS * SQUARE_ROW),
            output: Aligned::zeros(CONV2 * CONV2 * CHANNELS),
        }
    }

    /// Multiplies all images of a group by the filters; [`Self::output`] then returns the sums.
    pub(super) fn convolve(&mut self, traces: &[Trace]) {
        let step = traces.len() * SQUARES * CHANNELS;
        for (number, trace) in traces.iter().enumerate() {
            self.spread(number, &trace.pooled1, step);
        }
        let inputs = self.inputs.chunks_exact(step);
        let filters = self.weights.conv2.chunks_exact(CHANNELS * CHANNELS);
        let products = self.products.chunks_exact_mut(step);
        for (point, (products, (inputs, filter))) in products.zip(inputs.zip(filters)).enumerate() {
            begin(
                products,
                point == ONE * POINTS + ONE,
                self.weights.conv2_bias,
            );
            let inputs = Left::matrix(inputs, CHANNELS, CHANNELS);
            multiply(
                self.kernel,
                step / CHANNELS,
                inputs,
                filter,
                products,
                CHANNELS,
            );
        }
    }

    fn spread(&mut self, number: usize, image: &[f32], step: usize) {
        for down in 0..ACROSS {
            let top = &image[down * OUTPUTS * POOLED1_ROW..];
            let row = POOLED1_ROW;
            spread(self.kernel, row, top, row, &mut self.lines, row);
            for across in 0..ACROSS {
                let square = number * SQUARES + down * ACROSS + across;
                for (point, line) in self.lines.chunks_exact(row).enumerate() {
                    let from = &line[across * SQUARE_ROW..];
                    let to = &mut self.inputs[point * POINTS * step + square * CHANNELS..];
                    spread(self.kernel, CHANNELS, from, CHANNELS, to, step);
                }
            }
        }
    }

    /// Returns the sums of image `number` of a group of `group`, before pooling.
    pub(super) fn output(&mut self, number: usize, group: usize) -> &[f32] {
        let step = group * SQUARES * CHANNELS;
        for square in 0..SQUARES {
            let from = &self.products[(number * SQUARES + square) * CHANNELS..];
            for (point, column) in self.columns.chunks_exact_mut(SQUARE_ROW).enumerate() {
                gather(
                    self.kernel,
                    CHANNELS,
                    &from[point * POINTS * step..],
                    step,
                    column,
                    CHANNELS,
                );
            }
            let (down, across) = (square / ACROSS * OUTPUTS, square % ACROSS * OUTPUTS);
            let to = &mut self.output[(down * CONV2 + across) * CHANNELS..];
            gather(
                self.kernel,
                SQUARE_ROW,
                &self.columns,
                SQUARE_ROW,
                to,
                CONV2 * CHANNELS,
            );
        }
        &self.output
    }
}
