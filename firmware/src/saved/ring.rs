//! Gathered samples that survive a power cut: a ring in RAM, and behind it a log in flash that the
//! ring is filled from at the next start.
//!
//! A sample takes four pages of flash, so a sector holds four of them. The last page is
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 16 | the last pixels |
//! | 16 | 4 | magic |
//! | 20 | 4 | CRC-32 of pixels and number |
//! | 24 | 8 | number |
//! | 32 | 216 | labels: a word each, of which the last counts |
//! | 248 | 8 | mark: zeros, programmed when all but the labels was |
//!
//! A sample counts when it is marked. One that a power cut broke off is struck out by the next start,
//! so that it cannot read as whole some other day. A label that nobody was told of yet may be there at
//! one start and not at the next.

use embedded_storage::nor_flash::NorFlash;

use super::record::CRC32;
use super::region::{MARK, PAGE, PAGES, Region, Unwritable, WORD, is_marked};
use crate::gather::{Gathered, Ring, SampleSource};
use crate::model::{INPUTS, OUTPUTS};

const MAGIC: [u8; 4] = *b"GLS1";
/// Pages of a sample.
const SLOT: usize = INPUTS.next_multiple_of(PAGE) / PAGE;
/// Samples of a sector.
const PER_SECTOR: usize = PAGES / SLOT;
/// Pixels on the last page.
const REST: usize = INPUTS - (SLOT - 1) * PAGE;
const NUMBER: usize = REST + WORD;
const LABELS: usize = NUMBER + WORD;

/// Returns the sectors of flash that so many samples take: one is erased while the others hold them
/// all, and one makes up for places that power cuts spoil.
#[must_use]
pub const fn sectors(samples: usize) -> usize {
    samples.div_ceil(PER_SECTOR) + 2
}

/// The last `K` samples that were gathered, in RAM and in flash. Flash that takes nothing leaves those
/// in RAM.
pub struct KeptRing<F, const K: usize> {
    region: Option<Region<F>>,
    ring: &'static mut Ring<K>,
    /// Where in flash each of them lies, by its place in the ring.
    slots: [Option<usize>; K],
    /// Where the next one goes.
    next: usize,
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
            next: 0,
        };
        if let Some(mut region) = region {
            if let Some((newest, slot)) = Self::newest(&mut region) {
                // A torn mark may have read as set: it must be before anybody relies on it.
                let _ = region.mark(tail_of(slot));
                kept.fill(&mut region, newest);
                kept.next = Self::after(&mut region, slot);
            }
            kept.region = Some(region);
        }
        kept
    }

    /// Finds the newest sample's number and place, and strikes out what is none.
    fn newest(region: &mut Region<F>) -> Option<(u32, usize)> {
        let mut newest: Option<(u32, usize)> = None;
        for slot in 0..Self::SLOTS {
            match read(region, slot) {
                Some((number, ..)) => newest = newest.max(Some((number, slot))),
                None => strike_out(region, slot),
            }
        }
        newest
    }

    /// Fills the ring with the newest sample and those right before it.
    fn fill(&mut self, region: &mut Region<F>, newest: u32) {
        for slot in 0..Self::SLOTS {
            if let Some((number, label, pixels)) = read(region, slot)
                && newest - number < K as u32
            {
                self.ring.put(number, &pixels, label);
                self.slots[number as usize % K] = Some(slot);
            }
        }
        let is_there = |back: &u32| self.slots[(newest - back) as usize % K].is_some();
        let most = newest.saturating_add(1).min(K as u32);
        let count = (0..most).take_while(is_there).count() as u32;
        let end = newest.saturating_add(1);
        self.ring.hold(end - count..end);
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
    fn write(&mut self, number: u32, pixels: &[u8; INPUTS]) -> Option<usize> {
        let region = self.region.as_mut()?;
        for _ in 0..=PER_SECTOR {
            let slot = self.next;
            self.next = (slot + 1) % Self::SLOTS;
            if write_at(region, slot, number, pixels).is_ok() {
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
        let number = self.ring.numbers().end;
        let slot = self.write(number, pixels);
        self.ring.push(pixels, None);
        self.slots[number as usize % K] = slot;
        if let Some(label) = label {
            self.set_label(number, label);
        }
        number
    }

    fn set_label(&mut self, number: u32, label: u8) -> bool {
        if !self.ring.set_label(number, label) {
            return false;
        }
        if let (Some(slot), Some(region)) = (self.slots[number as usize % K], &mut self.region) {
            write_label(region, slot, label);
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

fn checksum(number: u32, pixels: &[u8; INPUTS]) -> [u8; 4] {
    let mut digest = CRC32.digest();
    digest.update(pixels);
    digest.update(&number.to_le_bytes());
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
    number: u32,
    pixels: &[u8; INPUTS],
) -> Result<(), Unwritable> {
    if slot.is_multiple_of(PER_SECTOR) {
        region.erase(slot / PER_SECTOR)?;
    }
    let (pages, rest) = pixels.as_chunks::<PAGE>();
    for (page, bytes) in pages.iter().enumerate() {
        region.program(slot * SLOT + page, bytes)?;
    }
    let mut tail = [0; LABELS];
    tail[..REST].copy_from_slice(rest);
    tail[REST..REST + 4].copy_from_slice(&MAGIC);
    tail[REST + 4..NUMBER].copy_from_slice(&checksum(number, pixels));
    tail[NUMBER..NUMBER + 4].copy_from_slice(&number.to_le_bytes());
    region.program(tail_of(slot), &tail)?;
    region.mark(tail_of(slot))
}

/// Reads a sample that is whole: its number, label and pixels.
fn read<F: NorFlash>(
    region: &mut Region<F>,
    slot: usize,
) -> Option<(u32, Option<u8>, [u8; INPUTS])> {
    let tail = region.page(tail_of(slot));
    if !is_marked(&tail) || tail[REST..REST + 4] != MAGIC {
        return None;
    }
    let mut pixels = [0; INPUTS];
    region.read(slot * SLOT, &mut pixels).ok()?;
    let number = u32::from_le_bytes(*tail[NUMBER..].first_chunk()?);
    if tail[REST + 4..NUMBER] != checksum(number, &pixels) {
        return None;
    }
    let (words, _) = tail[LABELS..MARK].as_chunks::<WORD>();
    let label = words.iter().rev().find_map(|word| {
        let label = word[0];
        (usize::from(label) < OUTPUTS && *word == encode(label)).then_some(label)
    });
    Some((number, label, pixels))
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
