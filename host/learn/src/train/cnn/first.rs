//! The first convolution, from an image of three colours to 64 channels.

use super::convolution::{CONV1, IMAGE_ROW};
use super::weights::{WINDOW_ROW1, Weights};
use crate::train::aligned::Aligned;
use crate::train::kernel::{
    CHANNELS, Kernel, Left, ONE, OUTPUTS, POINTS, gather, multiply, spread,
};

/// Values of a row of the output.
const ROW: usize = CONV1 * CHANNELS;
const _: () = assert!(CONV1.is_multiple_of(OUTPUTS));

/// The layer with its working memory.
pub(super) struct First<'a> {
    kernel: Kernel,
    weights: &'a Weights<'a>,
    /// The image rows of three output rows, at the points.
    lines: Aligned,
    products: Aligned,
    output: Aligned,
}

impl<'a> First<'a> {
    pub(super) fn new(kernel: Kernel, weights: &'a Weights<'a>) -> Self {
        Self {
            kernel,
            weights,
            lines: Aligned::zeros(POINTS * IMAGE_ROW),
            products: Aligned::zeros(POINTS * ROW),
            output: Aligned::zeros(CONV1 * ROW),
        }
    }

    /// Returns the sums before pooling. Only rows are at Winograd's points: three colours are too
    /// few for a product at every point of rows and columns.
    pub(super) fn convolve(&mut self, image: &[f32]) -> &[f32] {
        let (kernel, weights) = (self.kernel, self.weights);
        let filters = weights.conv1.chunks_exact(WINDOW_ROW1 * CHANNELS);
        let bands = self.output.chunks_exact_mut(OUTPUTS * ROW);
        for (number, band) in bands.enumerate() {
            let top = &image[number * OUTPUTS * IMAGE_ROW..];
            spread(
                kernel,
                IMAGE_ROW,
                top,
                IMAGE_ROW,
                &mut self.lines,
                IMAGE_ROW,
            );
            let products = self.products.chunks_exact_mut(ROW);
            let points = self.lines.chunks_exact(IMAGE_ROW).zip(filters.clone());
            for (point, (products, (line, filter))) in products.zip(points).enumerate() {
                begin(products, point == ONE, weights.conv1_bias);
                let windows = Left::matrix(line, 3, WINDOW_ROW1);
                multiply(kernel, CONV1, windows, filter, products, CHANNELS);
            }
            gather(kernel, ROW, &self.products, ROW, band, ROW);
        }
        &self.output
    }
}

/// Prepares the products of a point: zero, but the bias at the point that is part of every output.
pub(super) fn begin(products: &mut [f32], every_output: bool, bias: &[f32]) {
    if every_output {
        for pixel in products.chunks_exact_mut(CHANNELS) {
            pixel.copy_from_slice(bias);
        }
    } else {
        products.fill(0.0);
    }
}
