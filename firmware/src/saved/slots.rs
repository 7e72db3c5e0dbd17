//! Places for samples in flash, each with a record of its sample after the pixels.
//!
//! Pixels begin a page. At the next whole word after them, or on a separate page if little room
//! would be left for labels, is
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | magic |
//! | 4 | 4 | CRC-32 of pixels, number and turn |
//! | 8 | 4 | number |
//! | 12 | 4 | turn, one more than that of the sample written before |
//! | 16 | to the mark | labels: a word each, the last one counts |
//! | the page's last 8 | 8 | mark: zeros, programmed after everything but later labels |
//!
//! No place crosses the end of a sector. A place of 784 pixels takes four pages and has 27 labels.

use embedded_storage::nor_flash::NorFlash;

use super::record::CRC32;
use super::region::{MARK, PAGE, PAGES, Region, Unwritable, WORD, is_marked};
use crate::model::OUTPUTS;

const MAGIC: [u8; 4] = *b"GLS1";
/// Offsets of number and labels from the magic on.
const NUMBER: usize = WORD;
const LABELS: usize = 2 * WORD;
/// The least number of labels per sample.
const LEAST_LABELS: usize = 4;

/// The flash layout of samples of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Pages per place.
    pages: usize,
    /// Offset of the magic in the last page.
    head: usize,
    /// Places per sector.
    pub(super) per_sector: usize,
}

impl Layout {
    /// Returns the layout of samples of `inputs` bytes.
    pub(super) const fn of(inputs: usize) -> Self {
        let rest = (inputs % PAGE).next_multiple_of(WORD);
        let is_shared = rest + LABELS + LEAST_LABELS * WORD <= MARK;
        let (pages, head) = if is_shared {
            (inputs / PAGE + 1, rest)
        } else {
            (inputs.div_ceil(PAGE) + 1, 0)
        };
        assert!(
            pages <= PAGES,
            "a sample and its labels lie in one sector: 4,040 inputs at most are gathered"
        );
        Self {
            pages,
            head,
            per_sector: PAGES / pages,
        }
    }

    const fn first_page(&self, slot: usize) -> usize {
        slot / self.per_sector * PAGES + slot % self.per_sector * self.pages
    }

    const fn last_page(&self, slot: usize) -> usize {
        self.first_page(slot) + self.pages - 1
    }
}

/// The record of a sample in flash.
pub(super) struct Known {
    pub(super) number: u32,
    pub(super) turn: u32,
    pub(super) label: u8,
}

/// The places of a region, for samples of `N` bytes.
pub(super) struct Slots<F, const N: usize>(pub(super) Region<F>);

impl<F: NorFlash, const N: usize> Slots<F, N> {
    pub(super) const LAYOUT: Layout = Layout::of(N);

    /// Writes a sample; the first of a sector erases the sector.
    pub(super) fn write(
        &mut self,
        slot: usize,
        known: &Known,
        pixels: &[u8; N],
    ) -> Result<(), Unwritable> {
        let Layout {
            pages,
            head,
            per_sector,
        } = Self::LAYOUT;
        if slot.is_multiple_of(per_sector) {
            self.0.erase(slot / per_sector)?;
        }
        let mut page = [0; PAGE];
        for (at, bytes) in pixels.chunks(PAGE).take(pages - 1).enumerate() {
            page[..bytes.len()].copy_from_slice(bytes);
            let words = &page[..bytes.len().next_multiple_of(WORD)];
            self.0.program(Self::LAYOUT.first_page(slot) + at, words)?;
        }
        let shared = pixels.chunks(PAGE).nth(pages - 1).unwrap_or_default();
        page[..shared.len()].copy_from_slice(shared);
        page[shared.len()..head].fill(0);
        let (about, last) = (&mut page[head..], Self::LAYOUT.last_page(slot));
        about[..4].copy_from_slice(&MAGIC);
        about[NUMBER..][..4].copy_from_slice(&known.number.to_le_bytes());
        about[NUMBER + 4..][..4].copy_from_slice(&known.turn.to_le_bytes());
        let mut sum = CRC32.digest();
        sum.update(pixels);
        sum.update(&about[NUMBER..LABELS]);
        about[4..NUMBER].copy_from_slice(&sum.finalize().to_le_bytes());
        about[LABELS..][..WORD].copy_from_slice(&encode(known.label));
        self.0.program(last, &page[..head + LABELS + WORD])?;
        self.0.mark(last)
    }

    /// Returns the record of a complete sample.
    pub(super) fn read(&mut self, slot: usize) -> Option<Known> {
        let last = self.last_page(slot);
        let about = &last[Self::LAYOUT.head..];
        if !is_marked(&last) || about[..4] != MAGIC {
            return None;
        }
        let mut sum = CRC32.digest();
        for at in 0..N.div_ceil(PAGE) {
            let page = self.0.page(Self::LAYOUT.first_page(slot) + at);
            sum.update(&page[..PAGE.min(N - at * PAGE)]);
        }
        sum.update(&about[NUMBER..LABELS]);
        if about[4..NUMBER] != sum.finalize().to_le_bytes() {
            return None;
        }
        let (words, _) = last[Self::LAYOUT.head + LABELS..MARK].as_chunks::<WORD>();
        let label = words.iter().rev().find_map(|word| {
            let label = word[0];
            (usize::from(label) < OUTPUTS && *word == encode(label)).then_some(label)
        })?;
        Some(Known {
            number: u32::from_le_bytes(*about[NUMBER..].first_chunk()?),
            turn: u32::from_le_bytes(*about[NUMBER + 4..].first_chunk()?),
            label,
        })
    }

    /// Reads the pixels of a complete sample.
    pub(super) fn pixels(&mut self, slot: usize, pixels: &mut [u8; N]) -> Result<(), Unwritable> {
        self.0.read(Self::LAYOUT.first_page(slot), pixels)
    }

    /// Writes a label after the earlier ones. When all label words are used, a new label stays in
    /// RAM.
    pub(super) fn relabel(&mut self, slot: usize, label: u8) {
        let page = self.last_page(slot);
        let mut places = (Self::LAYOUT.head + LABELS..MARK)
            .step_by(WORD)
            .filter(|&at| page[at..at + WORD] == [0xFF; WORD]);
        let last = Self::LAYOUT.last_page(slot);
        let _ = places.find(|&at| self.0.program_word(last, at, encode(label)).is_ok());
    }

    /// Writes the mark again: a torn mark may have read as set.
    pub(super) fn confirm(&mut self, slot: usize) {
        // Flash that takes no zeros takes no samples either.
        let _ = self.0.mark(Self::LAYOUT.last_page(slot));
    }

    /// Returns whether a place was not written since its sector was erased.
    pub(super) fn is_blank(&mut self, slot: usize) -> bool {
        let (first, last) = (Self::LAYOUT.first_page(slot), Self::LAYOUT.last_page(slot));
        (first..=last).all(|page| self.0.page(page) == [0xFF; PAGE])
    }

    /// Makes sure that an incomplete sample is never read as valid.
    pub(super) fn strike_out(&mut self, slot: usize) {
        let head = Self::LAYOUT.head;
        let is_struck = self.last_page(slot)[head..head + WORD] == [0; WORD];
        if !is_struck && !self.is_blank(slot) {
            let last = Self::LAYOUT.last_page(slot);
            let _ = self.0.program_word(last, head, [0; WORD]);
        }
    }

    fn last_page(&mut self, slot: usize) -> [u8; PAGE] {
        self.0.page(Self::LAYOUT.last_page(slot))
    }
}

/// Encodes a label so that a torn word is no valid label.
const fn encode(label: u8) -> [u8; WORD] {
    let (is, not) = (label, !label);
    [is, not, is, not, is, not, is, not]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record of a sample is on whole words before the mark, and no place overlaps another or
    /// crosses the end of its sector.
    #[test]
    fn samples_of_any_size_have_places_of_their_own() {
        for inputs in 1..=4_040 {
            let layout = Layout::of(inputs);
            let room = (layout.pages - 1) * PAGE + layout.head;
            assert!(room >= inputs && layout.head.is_multiple_of(WORD));
            assert!(
                layout.head + LABELS + LEAST_LABELS * WORD <= MARK,
                "{inputs}"
            );
            for slot in 0..2 * layout.per_sector {
                let (first, last) = (layout.first_page(slot), layout.last_page(slot));
                assert_eq!(first / PAGES, last / PAGES, "{inputs}");
                assert_eq!(first / PAGES, slot / layout.per_sector, "{inputs}");
                assert!(layout.first_page(slot + 1) > last, "{inputs}");
            }
        }
        let paper = Layout::of(784);
        assert_eq!((paper.pages, paper.head, paper.per_sector), (4, 16, 4));
    }
}
