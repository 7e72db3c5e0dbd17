//! The backward pass of the convolutional layers, one sample at a time.
//!
//! Max-pooling passes an error to the one place it chose, so per channel at most 16 of 81 places
//! of the second convolution and 169 of 784 of the first have one. Errors are collected in
//! lists by channel (for the gradient of the weights) or by place (for the error of the input),
//! and each list is one sum of scaled windows.

use super::convolution::{
    CONV2, IMAGE_ROW, POOL1, POOL2, POOLED1, POOLED1_ROW, ROOMY_IMAGE, Trace,
};
use super::weights::{LAYOUT, PATCH1, PATCH2, Turned};
use crate::train::aligned::Aligned;
use crate::train::kernel::{CHANNELS, Kernel, NARROW, Places, ROWS, WIDE, Windows, add_windows};

/// Lanes of a window of the first convolution, its rows padded.
const PADDED_PATCH1: usize = ROWS * NARROW;

/// Sums of the gradients of both convolutions, one window per output channel, and
/// working memory.
pub(super) struct Reverse<'a> {
    kernel: Kernel,
    turned: &'a Turned,
    conv1: Aligned,
    conv1_bias: [f32; CHANNELS],
    conv2: Aligned,
    conv2_bias: [f32; CHANNELS],
    by_channel: Places,
    by_place: Places,
    errors1: Aligned,
}

impl<'a> Reverse<'a> {
    pub(super) fn new(kernel: Kernel, turned: &'a Turned) -> Self {
        let place = |at: usize| (at / CONV2 * POOLED1_ROW + at % CONV2 * CHANNELS) as u32;
        Self {
            kernel,
            turned,
            conv1: Aligned::zeros(CHANNELS * PADDED_PATCH1),
            conv1_bias: [0.0; CHANNELS],
            conv2: Aligned::zeros(CHANNELS * PATCH2),
            conv2_bias: [0.0; CHANNELS],
            by_channel: Places::default(),
            by_place: Places {
                targets: (0..CONV2 * CONV2).map(place).collect(),
                ..Places::default()
            },
            errors1: Aligned::zeros(POOLED1),
        }
    }

    /// Adds one sample, given the errors of its features.
    pub(super) fn add(&mut self, image: &[f32], trace: &Trace, errors: &[f32]) {
        debug_assert_eq!(image.len(), ROOMY_IMAGE);
        self.second(trace, errors);
        self.first(image, trace);
    }

    fn second(&mut self, trace: &Trace, errors: &[f32]) {
        let pooling = Pooling {
            side: POOL2,
            row: POOLED1_ROW,
            pixel: CHANNELS,
            window: PATCH2,
        };
        let places = &mut self.by_channel;
        pooling.by_channel(errors, &trace.choices2, places, &mut self.conv2_bias);
        let windows = Windows {
            lanes: WIDE,
            from_jump: POOLED1_ROW,
            to_jump: WIDE,
        };
        add_windows(
            self.kernel,
            windows,
            places,
            &trace.pooled1,
            &mut self.conv2,
        );

        turn(&self.by_channel, &mut self.by_place);
        self.errors1.fill(0.0);
        let windows = Windows {
            lanes: WIDE,
            from_jump: WIDE,
            to_jump: POOLED1_ROW,
        };
        add_windows(
            self.kernel,
            windows,
            &self.by_place,
            &self.turned.conv2,
            &mut self.errors1,
        );
        for (error, &value) in self.errors1.iter_mut().zip(trace.pooled1.iter()) {
            *error = if value > 0.0 { *error } else { 0.0 };
        }
    }

    fn first(&mut self, image: &[f32], trace: &Trace) {
        let pooling = Pooling {
            side: POOL1,
            row: IMAGE_ROW,
            pixel: 3,
            window: PADDED_PATCH1,
        };
        let places = &mut self.by_channel;
        pooling.by_channel(&self.errors1, &trace.choices1, places, &mut self.conv1_bias);
        let windows = Windows {
            lanes: NARROW,
            from_jump: IMAGE_ROW,
            to_jump: NARROW,
        };
        add_windows(self.kernel, windows, places, image, &mut self.conv1);
    }

    /// Adds everything to the flat gradient.
    pub(super) fn finish(self, gradient: &mut [f32]) {
        let conv1 = &mut gradient[LAYOUT.conv1];
        for at in 0..PATCH1 {
            for channel in 0..CHANNELS {
                let padded = channel * PADDED_PATCH1 + at / 15 * NARROW + at % 15;
                conv1[at * CHANNELS + channel] += self.conv1[padded];
            }
        }
        let conv2 = &mut gradient[LAYOUT.conv2];
        for at in 0..PATCH2 {
            for channel in 0..CHANNELS {
                conv2[at * CHANNELS + channel] += self.conv2[channel * PATCH2 + at];
            }
        }
        for channel in 0..CHANNELS {
            gradient[LAYOUT.conv1_bias.start + channel] += self.conv1_bias[channel];
            gradient[LAYOUT.conv2_bias.start + channel] += self.conv2_bias[channel];
        }
    }
}

/// A pooling layer seen from the image under its convolution.
struct Pooling {
    /// Windows in a row of the pooled image.
    side: usize,
    /// Values in a row and in a pixel of the image.
    row: usize,
    pixel: usize,
    /// Values of a window in the gradient.
    window: usize,
}

impl Pooling {
    /// Lists for every channel the errors that are not zero, each with the place that pooling
    /// chose, in the order of the windows; and adds them to the bias.
    fn by_channel(
        &self,
        errors: &[f32],
        choices: &[u8],
        places: &mut Places,
        bias: &mut [f32; CHANNELS],
    ) {
        let windows = self.side * self.side;
        places.targets.clear();
        places
            .targets
            .extend((0..CHANNELS).map(|channel| (channel * self.window) as u32));
        // Every channel has room for all windows; a list that is not full ends early.
        places.entries.clear();
        places.entries.resize(CHANNELS * windows, (0, 0.0));
        let mut ends: [u32; CHANNELS] = std::array::from_fn(|channel| (channel * windows) as u32);
        places.bounds.clear();
        places
            .bounds
            .extend(ends.iter().map(|&start| (start, start)));
        let offsets: [u32; 9] =
            std::array::from_fn(|choice| (choice / 3 * self.row + choice % 3 * self.pixel) as u32);
        let rows = errors
            .as_chunks::<CHANNELS>()
            .0
            .iter()
            .zip(choices.as_chunks::<CHANNELS>().0);
        for (window, (errors, choices)) in rows.enumerate() {
            let (y, x) = (window / self.side * 2, window % self.side * 2);
            let corner = (y * self.row + x * self.pixel) as u32;
            for channel in 0..CHANNELS {
                // Written always, kept only if not zero: a branch would be mispredicted half the time.
                let error = errors[channel];
                let place = corner + offsets[usize::from(choices[channel])];
                places.entries[ends[channel] as usize] = (place, error);
                ends[channel] += u32::from(error != 0.0);
                bias[channel] += error;
            }
        }
        for (bounds, end) in places.bounds.iter_mut().zip(ends) {
            bounds.1 = end;
        }
    }
}

/// Sorts the errors of the second convolution by place instead of by channel; an entry then
/// names the window of its channel in the transposed weights.
fn turn(by_channel: &Places, by_place: &mut Places) {
    let place = |at: u32| {
        let (y, x) = (
            at as usize / POOLED1_ROW,
            at as usize % POOLED1_ROW / CHANNELS,
        );
        y * CONV2 + x
    };
    let list = |bounds: (u32, u32)| &by_channel.entries[bounds.0 as usize..bounds.1 as usize];
    let Places {
        bounds, entries, ..
    } = by_place;
    bounds.clear();
    bounds.resize(CONV2 * CONV2, (0, 0));
    for &(at, _) in by_channel.bounds.iter().flat_map(|&bounds| list(bounds)) {
        bounds[place(at)].1 += 1;
    }
    let mut start = 0;
    for bounds in bounds.iter_mut() {
        let length = bounds.1;
        *bounds = (start, start);
        start += length;
    }
    entries.clear();
    entries.resize(start as usize, (0, 0.0));
    for (channel, &channel_bounds) in by_channel.bounds.iter().enumerate() {
        for &(at, error) in list(channel_bounds) {
            let end = &mut bounds[place(at)].1;
            entries[*end as usize] = ((channel * PATCH2) as u32, error);
            *end += 1;
        }
    }
}
