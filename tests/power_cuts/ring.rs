//! Samples an application gathered, on flash that loses its power inside any operation.

use gleaner_firmware::gather::{Gathered, Ring};
use gleaner_firmware::saved::{KeptRing, Region, ring_sectors};
use gleaner_tests::nor::Nor;

/// Samples of the ring.
const K: usize = 6;
/// Samples gathered: the log in flash, which holds 20, goes round once and begins again.
const GATHERED: u32 = 36;

fn chip(seed: u64) -> Nor {
    Nor::new(ring_sectors(K), seed)
}

fn open(flash: &Nor) -> KeptRing<Nor, K> {
    let ring = Box::leak(Box::new(Ring::new()));
    KeptRing::open(Some(Region::new(flash.clone(), 0)), ring)
}

fn sample(number: u32) -> [u8; 784] {
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

/// Gathers and labels until the power fails; returns what was done by then.
fn gather(flash: &Nor, ring: &mut KeptRing<Nor, K>) -> Told {
    let mut told = Told::default();
    for number in 0..GATHERED {
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
fn check(told: &Told, ring: &KeptRing<Nor, K>, cut: u32) -> Vec<u32> {
    let (found, count) = (ring.samples(), told.labels.len() as u32);
    for number in 0..=count {
        let (at_once, later) = labels(number);
        let label = found.label(number);
        let is_whole = |pixels: &[u8; 784]| *pixels == sample(number);
        assert!(found.pixels(number).is_none_or(is_whole), "cut {cut}");
        match told.labels.get(number as usize) {
            // The newest may have its label before somebody was told.
            Some(told) if number + 1 == count => {
                assert!(label == *told || label == later, "cut {cut}: {label:?}");
            }
            Some(told) if number + K as u32 > count => {
                assert_eq!(label, *told, "cut {cut}: {number}");
            }
            _ => assert!(label.is_none_or(|it| [at_once, later].contains(&Some(it)))),
        }
    }
    let there = |number: &u32| found.pixels(*number).is_some();
    assert!(found.numbers().end <= count + 1, "cut {cut}");
    found.numbers().filter(there).collect()
}

#[test]
fn what_was_gathered_and_labelled_survives_a_cut_inside_any_operation() {
    let whole = chip(1);
    let told = gather(&whole, &mut open(&whole));
    let operations = whole.operations();
    assert_eq!(check(&told, &open(&whole), 0), [30, 32, 33, 34]);
    assert!(operations > 2_400, "{operations}");
    for cut in 0..operations {
        let flash = chip(cut.into());
        flash.fail_after(cut);
        let told = gather(&flash, &mut open(&flash));
        assert!(flash.is_dead(), "cut {cut}");
        flash.power_up();
        let kept = check(&told, &open(&flash), cut);
        // However torn words read at the next start, it finds the same, and the ring goes on.
        flash.power_up();
        let mut ring = open(&flash);
        assert_eq!(check(&told, &ring, cut), kept, "cut {cut}");
        let next = ring.samples().numbers().end;
        for number in next..next + 2 {
            assert_eq!(ring.gather(&sample(number), Some(1)), number);
        }
        let ring = open(&flash);
        assert_eq!(ring.samples().numbers().end, next + 2, "cut {cut}");
        let left = kept.iter().filter(|&number| number + K as u32 >= next + 2);
        for &number in left.chain(&[next, next + 1]) {
            let found = ring.samples().pixels(number);
            assert!(found == Some(&sample(number)), "cut {cut}: {number}");
        }
    }
}

/// The oldest may be labelled first and the newest last, or the other way round.
#[test]
fn a_label_that_comes_late_pushes_nobody_out() {
    let flash = chip(1);
    let mut ring = open(&flash);
    for turn in 0..8 {
        let first = turn * K as u32;
        for number in first..first + K as u32 {
            ring.gather(&sample(number), None);
        }
        assert_eq!(open(&flash).samples().numbers().end, first);
        for number in (first..first + K as u32).rev() {
            assert!(ring.set_label(number, 3));
        }
        let found = open(&flash);
        for number in first..first + K as u32 {
            assert!(found.samples().pixels(number) == Some(&sample(number)));
        }
    }
}

#[test]
fn a_sample_is_labelled_anew_as_long_as_its_words_last() {
    let flash = chip(1);
    let mut ring = open(&flash);
    ring.gather(&sample(0), None);
    for label in 0..40 {
        assert!(ring.set_label(0, label % 10));
        assert_eq!(ring.samples().label(0), Some(label % 10));
    }
    // 27 words: the last of them counts after a power cut.
    assert_eq!(open(&flash).samples().label(0), Some(6));
    assert!(!ring.set_label(0, 10) && !ring.set_label(1, 1));
}

#[test]
fn without_flash_and_on_flash_that_is_none_of_ours_the_ring_is_in_ram() {
    let mut ring = KeptRing::<Nor, K>::open(None, Box::leak(Box::new(Ring::new())));
    for number in 0..GATHERED {
        assert_eq!(ring.gather(&sample(number), Some(1)), number);
    }
    assert_eq!(ring.samples().numbers().len(), K);
    // A chip that ends before the ring does takes what it can, and the board goes on.
    let small = Nor::new(1, 1);
    let mut ring = open(&small);
    for number in 0..GATHERED {
        ring.gather(&sample(number), None);
    }
    assert_eq!(ring.samples().numbers(), GATHERED - K as u32..GATHERED);
    assert_eq!(
        ring.samples().pixels(GATHERED - 1),
        Some(&sample(GATHERED - 1))
    );
}
