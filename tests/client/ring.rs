//! Samples an application gathered, on flash that loses its power inside any operation.

use gleaner_firmware::gather::{Gathered, Ring};
use gleaner_firmware::saved::{Region, SavedRing, ring_sectors_for};
use gleaner_tests::nor::Nor;

/// Samples of the ring.
const K: usize = 6;

fn chip<const N: usize>(seed: u64) -> Nor {
    Nor::new(ring_sectors_for(K, N), seed)
}

fn open<const N: usize>(flash: &Nor) -> SavedRing<Nor, K, N> {
    let ring = Box::leak(Box::new(Ring::new()));
    SavedRing::open(Some(Region::new(flash.clone(), 0)), ring)
}

fn sample<const N: usize>(number: u32) -> [u8; N] {
    core::array::from_fn(|at| (number as u8).wrapping_mul(31).wrapping_add(at as u8))
}

/// The label a sample is gathered with, and the one it gets afterwards; every third has none.
fn labels(number: u32) -> (Option<u8>, Option<u8>) {
    let label = (number % 10) as u8;
    (
        number.is_multiple_of(3).then_some(label),
        number.is_multiple_of(2).then_some(9 - label),
    )
}

/// What somebody was told of.
#[derive(Clone, Debug, Default)]
struct Told {
    /// Labels of all samples so far.
    labels: Vec<Option<u8>>,
}

/// Gathers and labels so many until the power fails; returns what was done by then.
fn gather<const N: usize>(flash: &Nor, ring: &mut SavedRing<Nor, K, N>, samples: u32) -> Told {
    let mut told = Told::default();
    for number in 0..samples {
        let (at_once, later) = labels(number);
        assert_eq!(ring.gather(&sample(number), at_once), number);
        if flash.is_dead() {
            break;
        }
        told.labels.push(at_once);
        if let Some(label) = later {
            assert!(ring.set_label(number, label));
            if flash.is_dead() {
                break;
            }
            told.labels[number as usize] = Some(label);
        }
    }
    told
}

/// Checks what a start found against what somebody was told of; returns what is there.
fn check<const N: usize>(told: &Told, ring: &SavedRing<Nor, K, N>, cut: u32) -> Vec<u32> {
    let (found, count) = (ring.samples(), told.labels.len() as u32);
    for number in 0..=count {
        let (at_once, later) = labels(number);
        let label = found.label(number);
        let is_whole = |pixels: &[u8; N]| *pixels == sample(number);
        assert!(found.pixels(number).is_none_or(is_whole), "{N}, cut {cut}");
        match told.labels.get(number as usize) {
            // The newest may have its label before somebody was told.
            Some(told) if number + 1 == count => {
                assert!(
                    label == *told || label == later,
                    "{N}, cut {cut}: {label:?}"
                );
            }
            Some(told) if number + K as u32 > count => {
                assert_eq!(label, *told, "{N}, cut {cut}: {number}");
            }
            _ => assert!(label.is_none_or(|it| [at_once, later].contains(&Some(it)))),
        }
    }
    let there = |number: &u32| found.pixels(*number).is_some();
    assert!(found.numbers().end <= count + 1, "{N}, cut {cut}");
    found.numbers().filter(there).collect()
}

/// Cuts the power in operations so many apart.
fn survives<const N: usize>(apart: usize) {
    let whole = chip::<N>(1);
    // Two of three are written: the log in flash goes round once and begins again.
    let places = ring_sectors_for(K, N) * (PAGES / pages::<N>());
    let samples = (places + places / 2 + K) as u32;
    let told = gather(&whole, &mut open::<N>(&whole), samples);
    let operations = whole.operations();
    let is_labelled = |number: &u32| labels(*number) != (None, None);
    let newest = (0..samples).rfind(is_labelled).unwrap();
    let last: Vec<u32> = (newest + 1 - K as u32..=newest)
        .filter(is_labelled)
        .collect();
    assert_eq!(check(&told, &open::<N>(&whole), 0), last, "{N}");
    for cut in (0..operations).step_by(apart) {
        let flash = chip::<N>(cut.into());
        flash.fail_after(cut);
        let told = gather(&flash, &mut open::<N>(&flash), samples);
        assert!(flash.is_dead(), "{N}, cut {cut}");
        flash.power_up();
        let kept = check(&told, &open::<N>(&flash), cut);
        // However torn words read at the next start, it finds the same, and the ring goes on.
        flash.power_up();
        let mut ring = open::<N>(&flash);
        assert_eq!(check(&told, &ring, cut), kept, "{N}, cut {cut}");
        let next = ring.samples().numbers().end;
        for number in next..next + 2 {
            assert_eq!(ring.gather(&sample(number), Some(1)), number);
        }
        let ring = open::<N>(&flash);
        assert_eq!(ring.samples().numbers().end, next + 2, "{N}, cut {cut}");
        let left = kept.iter().filter(|&number| number + K as u32 >= next + 2);
        for &number in left.chain(&[next, next + 1]) {
            let found = ring.samples().pixels(number);
            assert!(found == Some(&sample(number)), "{N}, cut {cut}: {number}");
        }
    }
}

/// Pages of a sector.
const PAGES: usize = 16;

/// Pages of a sample of `N` bytes: they end a page, or leave it 48 bytes and a mark for what is known.
fn pages<const N: usize>() -> usize {
    N.div_ceil(256) + usize::from(N.is_multiple_of(256) || N % 256 > 200)
}

#[test]
fn what_was_gathered_and_labelled_survives_a_cut_inside_any_operation() {
    survives::<784>(1);
}

/// Samples of other networks: some leave room for labels on their last page, some end a page, some are no
/// whole words, and three pages do not go up in a sector.
#[test]
fn samples_of_other_sizes_survive_as_well() {
    survives::<64>(1);
    survives::<192>(1);
    survives::<200>(1);
    survives::<201>(3);
    survives::<254>(3);
    survives::<255>(3);
    survives::<256>(3);
    survives::<257>(3);
    survives::<258>(3);
    survives::<510>(5);
    survives::<511>(5);
    survives::<512>(5);
    survives::<513>(5);
    survives::<514>(5);
    survives::<4_040>(199);
}

/// The oldest may be labelled first and the newest last, or the other way round.
#[test]
fn a_label_that_comes_late_pushes_nobody_out() {
    let flash = chip::<784>(1);
    let mut ring = open::<784>(&flash);
    for turn in 0..8 {
        let first = turn * K as u32;
        for number in first..first + K as u32 {
            ring.gather(&sample(number), None);
        }
        assert_eq!(open::<784>(&flash).samples().numbers().end, first);
        for number in (first..first + K as u32).rev() {
            assert!(ring.set_label(number, 3));
        }
        let found = open::<784>(&flash);
        for number in first..first + K as u32 {
            assert!(found.samples().pixels(number) == Some(&sample(number)));
        }
    }
}

#[test]
fn a_sample_is_labelled_anew_as_long_as_its_words_last() {
    let flash = chip::<784>(1);
    let mut ring = open::<784>(&flash);
    ring.gather(&sample(0), None);
    for label in 0..40 {
        assert!(ring.set_label(0, label % 10));
        assert_eq!(ring.samples().label(0), Some(label % 10));
    }
    // 27 words: the last of them counts after a power cut.
    assert_eq!(open::<784>(&flash).samples().label(0), Some(6));
    assert!(!ring.set_label(0, 10) && !ring.set_label(1, 1));
}

#[test]
fn without_flash_and_on_flash_that_is_none_of_ours_the_ring_is_in_ram() {
    const SAMPLES: u32 = 36;
    let mut ring = SavedRing::<Nor, K, 784>::open(None, Box::leak(Box::new(Ring::new())));
    for number in 0..SAMPLES {
        assert_eq!(ring.gather(&sample(number), Some(1)), number);
    }
    assert_eq!(ring.samples().numbers().len(), K);
    // A chip that ends before the ring does takes what it can, and the board goes on.
    let small = Nor::new(1, 1);
    let mut ring = open::<784>(&small);
    for number in 0..SAMPLES {
        ring.gather(&sample(number), None);
    }
    assert_eq!(ring.samples().numbers(), SAMPLES - K as u32..SAMPLES);
    assert_eq!(
        ring.samples().pixels(SAMPLES - 1),
        Some(&sample(SAMPLES - 1))
    );
}
