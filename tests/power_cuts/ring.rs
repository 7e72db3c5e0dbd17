//! Samples an application gathered, on flash that loses its power inside any operation.

use gleaner_firmware::gather::{Gathered, Ring};
use gleaner_firmware::saved::{KeptRing, Region, ring_sectors};
use gleaner_tests::nor::Nor;

/// Samples of the ring.
const K: usize = 6;
/// Samples gathered: the log in flash goes round once and begins again.
const GATHERED: u32 = 19;

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

/// The label a sample is gathered with, and the one it gets when the next one is there.
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

/// Checks what a start found against what somebody was told of; returns the numbers found.
fn check(told: &Told, ring: &KeptRing<Nor, K>, cut: u32) -> core::ops::Range<u32> {
    let (found, count) = (ring.samples(), told.labels.len() as u32);
    let numbers = found.numbers();
    // The one that was being written may be there.
    assert!(
        numbers.end == count || numbers.end == count + 1,
        "cut {cut}: {numbers:?} of {count}"
    );
    assert!(
        numbers.start <= count.saturating_sub(K as u32 - 1),
        "cut {cut}: {numbers:?}"
    );
    for number in numbers.clone() {
        assert_eq!(found.pixels(number), Some(&sample(number)), "cut {cut}");
        let (at_once, later) = labels(number);
        let label = found.label(number);
        match told.labels.get(number as usize) {
            // The newest may have its label before somebody was told.
            Some(told) if number + 1 < count => assert_eq!(label, *told, "cut {cut}: {number}"),
            Some(told) => assert!(label == *told || label == later, "cut {cut}: {label:?}"),
            None => assert!(label.is_none() || label == at_once, "cut {cut}: {label:?}"),
        }
    }
    numbers
}

#[test]
fn what_was_gathered_and_labelled_survives_a_cut_inside_any_operation() {
    let whole = chip(1);
    let told = gather(&whole, &mut open(&whole));
    let operations = whole.operations();
    assert_eq!(
        check(&told, &open(&whole), 0),
        GATHERED - K as u32..GATHERED
    );
    assert!(operations > 1_900, "{operations}");
    for cut in 0..operations {
        let flash = chip(cut.into());
        flash.fail_after(cut);
        let told = gather(&flash, &mut open(&flash));
        assert!(flash.is_dead(), "cut {cut}");
        flash.power_up();
        let numbers = check(&told, &open(&flash), cut);
        // However torn words read at the next start, it finds the same, and the ring goes on.
        flash.power_up();
        let mut ring = open(&flash);
        assert_eq!(check(&told, &ring, cut), numbers);
        for number in numbers.end..numbers.end + 2 {
            ring.gather(&sample(number), None);
        }
        let found = open(&flash).samples().numbers();
        assert_eq!(found.end, numbers.end + 2, "cut {cut}");
        assert!(found.len() >= numbers.len().min(K), "cut {cut}: {found:?}");
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
