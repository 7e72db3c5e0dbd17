//! Sums of scaled windows over sparse lists: the backward pass of a convolution, which visits
//! only the places that max-pooling chose.
#![allow(unsafe_code)]

use super::lanes::Lanes;
use super::select::{Kernel, dispatch};

/// Lanes of a narrow window: one window row of an RGB image, padded.
pub(in crate::train) const NARROW: usize = 16;
/// Lanes of a wide window: one window row of an image of 64 channels.
pub(in crate::train) const WIDE: usize = 320;
/// Rows of every window.
pub(in crate::train) const ROWS: usize = 5;

/// The layout of windows of [`ROWS`] rows in the source and in the sum.
#[derive(Clone, Copy, Debug)]
pub(in crate::train) struct Windows {
    /// Lanes of a row: [`NARROW`] or [`WIDE`].
    pub lanes: usize,
    /// Distance between a window's rows in the source.
    pub from_jump: usize,
    /// Distance between a window's rows in the sum.
    pub to_jump: usize,
}

/// Lists of (place in the source, factor) pairs, each with a place in the sum.
#[derive(Clone, Debug, Default)]
pub(in crate::train) struct Places {
    /// List i is `entries[bounds[i].0..bounds[i].1]`.
    pub bounds: Vec<(u32, u32)>,
    /// Pairs of place and factor.
    pub entries: Vec<(u32, f32)>,
    /// The place in the sum of list i.
    pub targets: Vec<u32>,
}

/// Adds to the window of `sum` at each list's target the windows of `source` that the list
/// names, scaled, in the order of the list.
///
/// # Panics
/// When a window reaches beyond `source` or `sum`.
pub(in crate::train) fn add_windows(
    kernel: Kernel,
    windows: Windows,
    places: &Places,
    source: &[f32],
    sum: &mut [f32],
) {
    let lanes = windows.lanes;
    assert!(lanes == NARROW || lanes == WIDE, "{lanes} lanes");
    assert_eq!(
        places.bounds.len(),
        places.targets.len(),
        "a target per list"
    );
    let reach = |jump: usize| (ROWS - 1) * jump + lanes;
    let inside = |place: u32, jump, length| place as usize + reach(jump) <= length;
    let read = places
        .entries
        .iter()
        .all(|&(at, _)| inside(at, windows.from_jump, source.len()));
    let written = places
        .targets
        .iter()
        .all(|&at| inside(at, windows.to_jump, sum.len()));
    assert!(read && written, "a window reaches beyond its image");
    dispatch!(kernel, whole, (
        windows: Windows, places: &Places, source: &[f32], sum: &mut [f32],
    ));
}

/// # Safety
/// The processor must have the instructions of `V`, and every window must lie inside; so for
/// the function below.
#[inline(always)]
unsafe fn whole<V: Lanes>(windows: Windows, places: &Places, source: &[f32], sum: &mut [f32]) {
    let Windows {
        lanes,
        from_jump,
        to_jump,
    } = windows;
    for (&(start, end), &target) in places.bounds.iter().zip(&places.targets) {
        let list = &places.entries[start as usize..end as usize];
        if list.is_empty() {
            continue;
        }
        // SAFETY: `add_windows` has checked that every window lies inside, and the blocks
        // below cover a window and no more.
        unsafe {
            let (from, to) = (source.as_ptr(), sum.as_mut_ptr().add(target as usize));
            match (lanes, V::WIDTH) {
                (NARROW, 16) => block::<V, ROWS, 1>(list, from, from_jump, to, to_jump),
                (NARROW, _) => block::<V, ROWS, 2>(list, from, from_jump, to, to_jump),
                (_, width) => {
                    for row in 0..ROWS {
                        let (from, to) = (from.add(row * from_jump), to.add(row * to_jump));
                        if width == 16 {
                            block::<V, 1, 20>(list, from, 0, to, 0);
                            continue;
                        }
                        for lane in (0..WIDE).step_by(8 * V::WIDTH) {
                            block::<V, 1, 8>(list, from.add(lane), 0, to.add(lane), 0);
                        }
                    }
                }
            }
        }
    }
}

/// `R` rows of `N` vectors, kept in registers over the whole list.
#[inline(always)]
unsafe fn block<V: Lanes, const R: usize, const N: usize>(
    list: &[(u32, f32)],
    from: *const f32,
    from_jump: usize,
    to: *mut f32,
    to_jump: usize,
) {
    // SAFETY: the caller vouches for `R` rows of `N` vectors at `to` and, for every entry, at
    // its place in `from`.
    unsafe {
        let mut sums = [[V::splat(0.0); N]; R];
        for (row, vectors) in sums.iter_mut().enumerate() {
            for (at, vector) in vectors.iter_mut().enumerate() {
                *vector = V::load(to.add(row * to_jump + at * V::WIDTH));
            }
        }
        for &(place, factor) in list {
            let factor = V::splat(factor);
            let window = from.add(place as usize);
            for (row, vectors) in sums.iter_mut().enumerate() {
                for (at, vector) in vectors.iter_mut().enumerate() {
                    let values = V::load(window.add(row * from_jump + at * V::WIDTH));
                    *vector = values.multiply_add(factor, *vector);
                }
            }
        }
        for (row, vectors) in sums.iter().enumerate() {
            for (at, vector) in vectors.iter().enumerate() {
                vector.store(to.add(row * to_jump + at * V::WIDTH));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_shared::rng::{Purpose, Rng};

    #[test]
    fn every_kernel_adds_the_same_bits_and_the_right_windows() {
        let mut rng = Rng::stream(2, Purpose::Synthetic, 0, 0);
        let mut noise =
            |count| -> Vec<f32> { (0..count).map(|_| rng.uniform() as f32 - 0.5).collect() };
        let source = noise(4000);
        let start = noise(4000);
        let places = Places {
            bounds: vec![(0, 3), (3, 3), (3, 4)],
            entries: vec![(0, 0.5), (77, -0.25), (300, 2.0), (13, 1.0)],
            targets: vec![10, 0, 500],
        };
        for lanes in [NARROW, WIDE] {
            let windows = Windows {
                lanes,
                from_jump: 400,
                to_jump: 330,
            };
            let of = |kernel| {
                let mut sum = start.clone();
                add_windows(kernel, windows, &places, &source, &mut sum);
                sum
            };
            let portable = of(Kernel::PORTABLE);
            for kernel in Kernel::available() {
                assert_eq!(of(kernel), portable, "{kernel}");
            }
            let mut exact: Vec<f64> = start.iter().map(|&value| f64::from(value)).collect();
            for (list, &target) in places.targets.iter().enumerate() {
                for entry in places.bounds[list].0..places.bounds[list].1 {
                    let (place, factor) = places.entries[entry as usize];
                    for (row, lane) in (0..ROWS).flat_map(|r| (0..lanes).map(move |l| (r, l))) {
                        exact[target as usize + row * 330 + lane] += f64::from(factor)
                            * f64::from(source[place as usize + row * 400 + lane]);
                    }
                }
            }
            for (ours, exact) in portable.iter().zip(exact) {
                assert!((f64::from(*ours) - exact).abs() < 1e-5);
            }
        }
    }

    #[test]
    #[should_panic(expected = "beyond its image")]
    fn a_window_beyond_the_image_is_refused() {
        let places = Places {
            bounds: vec![(0, 1)],
            entries: vec![(1, 1.0)],
            targets: vec![0],
        };
        let windows = Windows {
            lanes: NARROW,
            from_jump: 16,
            to_jump: 16,
        };
        add_windows(
            Kernel::PORTABLE,
            windows,
            &places,
            &[0.0; 80],
            &mut [0.0; 80],
        );
    }
}
