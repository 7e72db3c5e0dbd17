//! Max-pooling of 3 x 3 places with stride 2 over 64 channels, which records the chosen places.
#![allow(unsafe_code)]

use super::lanes::Lanes;
use super::select::{Kernel, dispatch};

/// Channels of a pixel.
pub(in crate::train) const CHANNELS: usize = 64;

/// Channels that are compared together, so that they stay in registers.
const BLOCK: usize = 16;

/// Pools a square image of `side` x `side` pixels into (`side` - 1) / 2 squared, with ReLU.
/// `choices` gets the place of the largest value, row by row, 0 to 8; the first of equals.
///
/// # Panics
/// When a slice is too short.
pub(in crate::train) fn pool(
    kernel: Kernel,
    side: usize,
    image: &[f32],
    pooled: &mut [f32],
    choices: &mut [u8],
) {
    dispatch!(kernel, all, (side: usize, image: &[f32], pooled: &mut [f32], choices: &mut [u8]));
}

/// Plain Rust that the compiler vectorises for the instructions of `V`.
///
/// # Safety
/// The processor must have the instructions of `V`.
#[inline(always)]
unsafe fn all<V: Lanes>(side: usize, image: &[f32], pooled: &mut [f32], choices: &mut [u8]) {
    let _ = V::WIDTH;
    let half = (side - 1) / 2;
    let pixels = &image.as_chunks::<CHANNELS>().0[..side * side];
    let pooled = &mut pooled.as_chunks_mut::<CHANNELS>().0[..half * half];
    let choices = &mut choices.as_chunks_mut::<CHANNELS>().0[..half * half];
    for (at, (best, choice)) in pooled.iter_mut().zip(choices).enumerate() {
        let corner = at / half * 2 * side + at % half * 2;
        let places: [&[f32; CHANNELS]; 9] =
            std::array::from_fn(|place| &pixels[corner + place / 3 * side + place % 3]);
        for block in (0..CHANNELS).step_by(BLOCK) {
            let mut largest: [f32; BLOCK] = std::array::from_fn(|lane| places[0][block + lane]);
            let mut winner = [0u32; BLOCK];
            for (number, place) in places.iter().enumerate().skip(1) {
                for lane in 0..BLOCK {
                    let value = place[block + lane];
                    let wins = value > largest[lane];
                    largest[lane] = if wins { value } else { largest[lane] };
                    winner[lane] = if wins { number as u32 } else { winner[lane] };
                }
            }
            for lane in 0..BLOCK {
                best[block + lane] = largest[lane].max(0.0);
                choice[block + lane] = winner[lane] as u8;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_each_window_wins_and_equals_go_to_the_first() {
        let side = 5;
        let mut image = vec![-1.0; side * side * CHANNELS];
        // Channel 0: pixel (2, 2) belongs to all four windows. Channel 1: all equal, negative.
        image[(2 * side + 2) * CHANNELS] = 3.0;
        for kernel in Kernel::available() {
            let mut pooled = vec![0.0; 4 * CHANNELS];
            let mut choices = vec![9; 4 * CHANNELS];
            pool(kernel, side, &image, &mut pooled, &mut choices);
            let of = |channel: usize| (0..4).map(move |at| at * CHANNELS + channel);
            assert_eq!(
                of(0).map(|at| choices[at]).collect::<Vec<_>>(),
                [8, 6, 2, 0]
            );
            assert!(of(0).all(|at| pooled[at] == 3.0));
            assert!(of(1).all(|at| pooled[at] == 0.0 && choices[at] == 0));
        }
    }
}
