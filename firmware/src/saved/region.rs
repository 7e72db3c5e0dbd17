//! The flash for saved state: whole sectors that nothing else uses, with every operation counted.

use embedded_storage::nor_flash::NorFlash;

/// Bytes programmed at once: a page of an RP2040's flash chip, 32 words of an STM32's.
pub const PAGE: usize = 256;
/// Bytes erased at once.
pub const SECTOR: usize = 4_096;
pub const PAGES: usize = SECTOR / PAGE;
/// The largest word a flash may program; a programmed word can only be set to zero.
pub const WORD: usize = 8;

/// The flash could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unwritable;

/// A range of sectors of a flash.
#[derive(Debug)]
pub struct Region<F> {
    flash: F,
    offset: u32,
    pub(super) erases: u32,
    /// Pages programmed, completely or in part.
    pub(super) programs: u32,
}

impl<F: NorFlash> Region<F> {
    /// Takes [`SECTORS`](super::SECTORS) sectors of `flash` from `offset` on, which nothing else
    /// uses.
    pub const fn new(flash: F, offset: u32) -> Self {
        const { assert!(SECTOR.is_multiple_of(F::ERASE_SIZE) && WORD.is_multiple_of(F::WRITE_SIZE)) };
        Self {
            flash,
            offset,
            erases: 0,
            programs: 0,
        }
    }

    fn at(&self, page: usize) -> u32 {
        self.offset + (page * PAGE) as u32
    }

    /// Returns a page; unreadable flash returns no valid record.
    pub(super) fn page(&mut self, page: usize) -> [u8; PAGE] {
        let mut bytes = [0; PAGE];
        match self.flash.read(self.at(page), &mut bytes) {
            Ok(()) => bytes,
            Err(_) => [0; PAGE],
        }
    }

    /// Reads bytes from the start of a page on.
    pub(super) fn read(&mut self, page: usize, bytes: &mut [u8]) -> Result<(), Unwritable> {
        let at = self.at(page);
        self.flash.read(at, bytes).map_err(|_| Unwritable)
    }

    pub(super) fn erase(&mut self, sector: usize) -> Result<(), Unwritable> {
        self.erases = self.erases.saturating_add(1);
        let from = self.at(sector * PAGES);
        let to = from + SECTOR as u32;
        self.flash.erase(from, to).map_err(|_| Unwritable)
    }

    /// Programs the start of an erased page with whole words and reads it back.
    pub(super) fn program(&mut self, page: usize, bytes: &[u8]) -> Result<(), Unwritable> {
        self.programs = self.programs.saturating_add(1);
        let at = self.at(page);
        self.flash.write(at, bytes).map_err(|_| Unwritable)?;
        let (written, rest) = (self.page(page), &[0xFF; PAGE][bytes.len()..]);
        let good = written[..bytes.len()] == *bytes && written[bytes.len()..] == *rest;
        good.then_some(()).ok_or(Unwritable)
    }

    /// Programs the last word of a page with zeros, whatever it was before.
    pub(super) fn mark(&mut self, page: usize) -> Result<(), Unwritable> {
        self.program_word(page, MARK, [0; WORD])
    }

    /// Programs a word of a page, erased or to zero, and reads it back.
    pub(super) fn program_word(
        &mut self,
        page: usize,
        place: usize,
        word: [u8; WORD],
    ) -> Result<(), Unwritable> {
        self.programs = self.programs.saturating_add(1);
        let at = self.at(page) + place as u32;
        self.flash.write(at, &word).map_err(|_| Unwritable)?;
        let written = self.page(page)[place..place + WORD] == word;
        written.then_some(()).ok_or(Unwritable)
    }
}

impl<F: NorFlash + Clone> Region<F> {
    /// Returns the region of `sectors` sectors right before this one; `None` if the flash does not
    /// reach that far.
    pub fn in_front(&self, sectors: usize) -> Option<Self> {
        let offset = self.offset.checked_sub((sectors * SECTOR) as u32)?;
        Some(Self::new(self.flash.clone(), offset))
    }
}

/// Offset of the mark in a page.
pub(super) const MARK: usize = PAGE - WORD;

/// Returns whether the mark of a page is set.
pub(super) fn is_marked(page: &[u8; PAGE]) -> bool {
    page[MARK..] == [0; WORD]
}
