//! Gathered samples that survive a power cut: a ring in RAM, and behind it a log in flash of those that
//! are labelled, from which the ring is filled at the next start. What nobody labels wears no flash.
//!
//! A sample takes four pages of flash, so a sector holds four of them. The last page is
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 16 | the last pixels |
//! | 16 | 4 | magic |
//! | 20 | 4 | CRC-32 of pixels, number and turn |
//! | 24 | 4 | number |
//! | 28 | 4 | turn, one more than that of the sample written before |
//! | 32 | 216 | labels: a word each, of which the last counts |
//! | 248 | 8 | mark: zeros, programmed when all but later labels was |
//!
//! A sample counts when it is marked. One that a power cut broke off is struck out by the next start,
//! so that it cannot read as whole some other day. Another label that nobody was told of yet may be there
//! at one start and not at the next.

use embedded_storage::nor_flash::NorFlash;

use super::record::CRC32;
use super::region::{MARK, PAGE, PAGES, Region, Unwritable, WORD, is_marked};
use crate::gather::{Gathered, Ring, SampleSource};
use crate::model::{INPUTS, OUTPUTS};

const MAGIC: [u8; 4] = *b"GLS1";
/// Pages of a sample.
const SLOT: usize = INPUTS.div_ceil(PAGE);
/// Samples of a sector.
const PER_SECTOR: usize = PAGES / SLOT;
/// Pixels on the last page.
const REST: usize = INPUTS - (SLOT - 1) * PAGE;
const NUMBER: usize = REST + WORD;
const LABELS: usize = NUMBER + WORD;

/// Returns the sectors of flash that so many samples take. Samples are labelled in any order, so twice
/// as many may be written before the oldest of them is gone; one sector is erased meanwhile, and one
/// makes up for places that power cuts spoil.
#[must_use]
pub const fn sectors(samples: usize) -> usize {
    (2 * samples).div_ceil(PER_SECTOR) + 2
}

/// The last `K` samples that were gathered, in RAM, and those of them that are labelled in flash too.
/// Flash that takes nothing leaves them in RAM.
pub struct KeptRing<F, const K: usize> {
    region: Option<Region<F>>,
    ring: &'static mut Ring<K>,
    /// Where in flash each of them lies, by its place in the ring.
    slots: [Option<usize>; K],
    /// Where the next one goes, and its turn.
    next: (usize, u32),
}

/// A sample in flash.
struct Found {
    number: u32,
    turn: u32,
    label: u8,
    pixels: [u8; INPUTS],
}

impl<F: NorFlash, const K: usize> KeptRing<F, K> {
    const SLOTS: usize = sectors(K) * PER_SECTOR;

    /// Fills an empty `ring` from a region of [`sectors`]`(K)` sectors; without one it is in RAM alone.
    #[cold]
    #[inline(never)]
    pub fn open(region: Option<Region<F>>, ring: &'static mut Ring<K>) -> Self {
        let mut kept = Self {
            region: None,
            ring,
            slots: [None; K],
            next: (0, 1),
        };
        if let Some(mut region) = region {
            if let Some((turn, slot, newest)) = Self::last(&mut region) {
                // A torn mark may have read as set: it must be before anybody relies on it.
                let _ = region.mark(tail_of(slot));
                kept.fill(&mut region, newest);
                kept.next = (Self::after(&mut region, slot), turn.saturating_add(1));
            }
            kept.region = Some(region);
        }
        kept
    }

    /// Finds whose turn came last, where, and the newest sample's number; strikes out what is none.
    fn last(region: &mut Region<F>) -> Option<(u32, usize, u32)> {
        let (mut last, mut newest) = (None, 0);
        for slot in 0..Self::SLOTS {
            match read(region, slot) {
                Some(found) => {
                    last = last.max(Some((found.turn, slot)));
                    newest = newest.max(found.number);
                }
                None => strike_out(region, slot),
            }
        }
        last.map(|(turn, slot)| (turn, slot, newest))
    }

    /// Fills the ring with the newest sample and the last before it.
    fn fill(&mut self, region: &mut Region<F>, newest: u32) {
        for slot in 0..Self::SLOTS {
            if let Some(found) = read(region, slot)
                && newest - found.number < K as u32
            {
                let place = found.number as usize % K;
                self.ring
                    .put(found.number, &found.pixels, Some(found.label));
                self.slots[place] = Some(slot);
            }
        }
        self.ring.go_on_behind(newest);
    }

    /// Returns the place behind another, unless a power cut spoilt it: then one behind that.
    fn after(region: &mut Region<F>, slot: usize) -> usize {
        let mut slot = slot + 1;
        while !slot.is_multiple_of(PER_SECTOR) && !is_blank(region, slot) {
            slot += 1;
        }
        slot % Self::SLOTS
    }

    /// Writes a sample into the next place that takes it; tells where that is.
    fn write(&mut self, number: u32, label: u8) -> Option<usize> {
        let region = self.region.as_mut()?;
        let pixels = *self.ring.pixels(number)?;
        for _ in 0..=PER_SECTOR {
            let (slot, turn) = self.next;
            if slot.is_multiple_of(PER_SECTOR) {
                // Whoever was there is gone, if power cuts spoilt more places than there are spare.
                for it in &mut self.slots {
                    *it = it.filter(|it| it / PER_SECTOR != slot / PER_SECTOR);
                }
            }
            self.next = ((slot + 1) % Self::SLOTS, turn.saturating_add(1));
            let sample = Found {
                number,
                turn,
                label,
                pixels,
            };
            if write_at(region, slot, &sample).is_ok() {
                return Some(slot);
            }
        }
        None
    }
}

impl<F: NorFlash, const K: usize> Gathered for KeptRing<F, K> {
    fn samples(&self) -> &dyn SampleSource {
        self.ring
    }

    fn gather(&mut self, pixels: &[u8; INPUTS], label: Option<u8>) -> u32 {
        let number = self.ring.push(pixels, None);
        self.slots[number as usize % K] = None;
        if let Some(label) = label {
            self.set_label(number, label);
        }
        number
    }

    fn set_label(&mut self, number: u32, label: u8) -> bool {
        if !self.ring.set_label(number, label) {
            return false;
        }
        let place = number as usize % K;
        match (self.slots[place], &mut self.region) {
            (Some(slot), Some(region)) => write_label(region, slot, label),
            _ => self.slots[place] = self.write(number, label),
        }
        true
    }
}

/// Writes a label behind those before it. One that is labelled over and over uses its words up, and
/// keeps its last label in RAM.
fn write_label<F: NorFlash>(region: &mut Region<F>, slot: usize, label: u8) {
    let page = tail_of(slot);
    let is_free = |tail: &[u8; PAGE], at: usize| tail[at..at + WORD] == [0xFF; WORD];
    let tail = region.page(page);
    let mut places = (LABELS..MARK)
        .step_by(WORD)
        .filter(|&at| is_free(&tail, at));
    let _ = places.find(|&at| region.program_word(page, at, encode(label)).is_ok());
}

const fn tail_of(slot: usize) -> usize {
    slot * SLOT + SLOT - 1
}

fn checksum(pixels: &[u8; INPUTS], numbers: &[u8]) -> [u8; 4] {
    let mut digest = CRC32.digest();
    digest.update(pixels);
    digest.update(numbers);
    digest.finalize().to_le_bytes()
}

/// Writes a label so that a word which lost its power half way is none.
const fn encode(label: u8) -> [u8; WORD] {
    let (is, not) = (label, !label);
    [is, not, is, not, is, not, is, not]
}

fn write_at<F: NorFlash>(
    region: &mut Region<F>,
    slot: usize,
    sample: &Found,
) -> Result<(), Unwritable> {
    if slot.is_multiple_of(PER_SECTOR) {
        region.erase(slot / PER_SECTOR)?;
    }
    let (pages, rest) = sample.pixels.as_chunks::<PAGE>();
    for (page, bytes) in pages.iter().enumerate() {
        region.program(slot * SLOT + page, bytes)?;
    }
    let mut tail = [0; LABELS + WORD];
    tail[..REST].copy_from_slice(rest);
    tail[REST..REST + 4].copy_from_slice(&MAGIC);
    tail[NUMBER..NUMBER + 4].copy_from_slice(&sample.number.to_le_bytes());
    tail[NUMBER + 4..LABELS].copy_from_slice(&sample.turn.to_le_bytes());
    let sum = checksum(&sample.pixels, &tail[NUMBER..LABELS]);
    tail[REST + 4..NUMBER].copy_from_slice(&sum);
    tail[LABELS..].copy_from_slice(&encode(sample.label));
    region.program(tail_of(slot), &tail)?;
    region.mark(tail_of(slot))
}

/// Reads a sample that is whole.
fn read<F: NorFlash>(region: &mut Region<F>, slot: usize) -> Option<Found> {
    let tail = region.page(tail_of(slot));
    if !is_marked(&tail) || tail[REST..REST + 4] != MAGIC {
        return None;
    }
    let mut pixels = [0; INPUTS];
    region.read(slot * SLOT, &mut pixels).ok()?;
    if tail[REST + 4..NUMBER] != checksum(&pixels, &tail[NUMBER..LABELS]) {
        return None;
    }
    let (words, _) = tail[LABELS..MARK].as_chunks::<WORD>();
    let label = words.iter().rev().find_map(|word| {
        let label = word[0];
        (usize::from(label) < OUTPUTS && *word == encode(label)).then_some(label)
    })?;
    Some(Found {
        number: u32::from_le_bytes(*tail[NUMBER..].first_chunk()?),
        turn: u32::from_le_bytes(*tail[NUMBER + 4..].first_chunk()?),
        label,
        pixels,
    })
}

fn is_blank<F: NorFlash>(region: &mut Region<F>, slot: usize) -> bool {
    (slot * SLOT..=tail_of(slot)).all(|page| region.page(page) == [0xFF; PAGE])
}

/// Makes sure that what was broken off is never read as a sample.
fn strike_out<F: NorFlash>(region: &mut Region<F>, slot: usize) {
    let struck = region.page(tail_of(slot))[REST..NUMBER] == [0; WORD];
    if !struck && !is_blank(region, slot) {
        // Flash that takes no zeros takes no samples either.
        let _ = region.program_word(tail_of(slot), REST, [0; WORD]);
    }
}
