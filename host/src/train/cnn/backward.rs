//! The convolutional part, backward, one sample at a time.
//!
//! Max-pooling hands an error to the one place it chose, so per channel at most 16 of 81 places
//! of the second convolution and 169 of 784 of the first carry one. Errors are gathered into
//! lists by channel (for the gradient of the weights) or by place (for the error of the input),
//! and each list is one sum of scaled windows.

use super::convolution::{
    CONV1, CONV2, IMAGE_ROW, POOL1, POOL2, POOLED1, POOLED1_ROW, ROOMY_IMAGE, Trace,
};
use super::weights::{LAYOUT, PATCH1, PATCH2, Turned};
use crate::train::kernel::{CHANNELS, Kernel, NARROW, Places, ROWS, WIDE, Windows, add_windows};

/// Lanes of a window of the first convolution, its rows padded.
const PADDED_PATCH1: usize = ROWS * NARROW;

/// Gradients of both convolutions while samples are added, one window per output channel, and
/// memory to work in.
pub(super) struct Reverse<'a> {
    kernel: Kernel,
    turned: &'a Turned,
    conv1: Vec<f32>,
    conv1_bias: [f32; CHANNELS],
    conv2: Vec<f32>,
    conv2_bias: [f32; CHANNELS],
    chosen: Vec<Chosen>,
    by_channel: Places,
    by_place: Places,
    errors1: Vec<f32>,
}

/// An error at the place that pooling chose.
#[derive(Clone, Copy)]
struct Chosen {
    /// Column and row of the place.
    x: u16,
    y: u16,
    channel: u16,
    error: f32,
}

impl<'a> Reverse<'a> {
    pub(super) fn new(kernel: Kernel, turned: &'a Turned) -> Self {
        let place = |at: usize| (at / CONV2 * POOLED1_ROW + at % CONV2 * CHANNELS) as u32;
        Self {
            kernel,
            turned,
            conv1: vec![0.0; CHANNELS * PADDED_PATCH1],
            conv1_bias: [0.0; CHANNELS],
            conv2: vec![0.0; CHANNELS * PATCH2],
            conv2_bias: [0.0; CHANNELS],
            chosen: Vec::new(),
            by_channel: Places::default(),
            by_place: Places {
                targets: (0..CONV2 * CONV2).map(place).collect(),
                ..Places::default()
            },
            errors1: vec![0.0; POOLED1],
        }
    }

    /// Adds one sample, given the errors of its features.
    pub(super) fn add(&mut self, image: &[f32], trace: &Trace, errors: &[f32]) {
        debug_assert_eq!(image.len(), ROOMY_IMAGE);
        self.second(trace, errors);
        self.first(image, trace);
    }

    fn second(&mut self, trace: &Trace, errors: &[f32]) {
        choose(
            POOL2,
            errors,
            &trace.choices2,
            &mut self.chosen,
            &mut self.conv2_bias,
        );
        let in_pooled =
            |at: &Chosen| u32::from(at.y) * POOLED1_ROW as u32 + u32::from(at.x) * CHANNELS as u32;
        self.by_channel.targets.clear();
        self.by_channel
            .targets
            .extend((0..CHANNELS).map(|channel| (channel * PATCH2) as u32));
        gather(&self.chosen, CHANNELS, &mut self.by_channel, |at| {
            (usize::from(at.channel), in_pooled(at))
        });
        let windows = Windows {
            lanes: WIDE,
            from_jump: POOLED1_ROW,
            to_jump: WIDE,
        };
        add_windows(
            self.kernel,
            windows,
            &self.by_channel,
            &trace.pooled1,
            &mut self.conv2,
        );

        gather(&self.chosen, CONV2 * CONV2, &mut self.by_place, |at| {
            let place = usize::from(at.y) * CONV2 + usize::from(at.x);
            (place, u32::from(at.channel) * PATCH2 as u32)
        });
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
        for (error, &value) in self.errors1.iter_mut().zip(&trace.pooled1) {
            *error = if value > 0.0 { *error } else { 0.0 };
        }
    }

    fn first(&mut self, image: &[f32], trace: &Trace) {
        choose(
            POOL1,
            &self.errors1,
            &trace.choices1,
            &mut self.chosen,
            &mut self.conv1_bias,
        );
        self.by_channel.targets.clear();
        let targets = (0..CHANNELS).map(|channel| (channel * PADDED_PATCH1) as u32);
        self.by_channel.targets.extend(targets);
        gather(&self.chosen, CHANNELS, &mut self.by_channel, |at| {
            let place = u32::from(at.y) * IMAGE_ROW as u32 + u32::from(at.x) * 3;
            (usize::from(at.channel), place)
        });
        let windows = Windows {
            lanes: NARROW,
            from_jump: IMAGE_ROW,
            to_jump: NARROW,
        };
        add_windows(
            self.kernel,
            windows,
            &self.by_channel,
            image,
            &mut self.conv1,
        );
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

/// Lists the errors that are not zero at the places pooling chose, and adds them to the bias.
fn choose(
    pooled_side: usize,
    errors: &[f32],
    choices: &[u8],
    chosen: &mut Vec<Chosen>,
    bias: &mut [f32; CHANNELS],
) {
    debug_assert!(pooled_side * 2 < CONV1);
    chosen.clear();
    let windows = errors
        .as_chunks::<CHANNELS>()
        .0
        .iter()
        .zip(choices.as_chunks::<CHANNELS>().0);
    for (window, (errors, choices)) in windows.enumerate() {
        let (top, left) = (window / pooled_side * 2, window % pooled_side * 2);
        for (channel, (&error, &choice)) in errors.iter().zip(choices).enumerate() {
            if error != 0.0 {
                bias[channel] += error;
                let (y, x) = (
                    top + usize::from(choice / 3),
                    left + usize::from(choice % 3),
                );
                let channel = channel as u16;
                chosen.push(Chosen {
                    x: x as u16,
                    y: y as u16,
                    channel,
                    error,
                });
            }
        }
    }
}

/// Sorts errors into lists, keeping their order within each; `key` gives list and place.
fn gather(
    chosen: &[Chosen],
    lists: usize,
    places: &mut Places,
    key: impl Fn(&Chosen) -> (usize, u32),
) {
    let Places {
        starts, entries, ..
    } = places;
    starts.clear();
    starts.resize(lists + 1, 0);
    for at in chosen {
        starts[key(at).0 + 1] += 1;
    }
    for list in 0..lists {
        starts[list + 1] += starts[list];
    }
    entries.clear();
    entries.resize(chosen.len(), (0, 0.0));
    // Each start moves to its list's end while the list fills, and so to the next start.
    for at in chosen {
        let (list, place) = key(at);
        entries[starts[list] as usize] = (place, at.error);
        starts[list] += 1;
    }
    starts.rotate_right(1);
    starts[0] = 0;
}
