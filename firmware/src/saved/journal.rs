//! The journal: one page per closed round, in a ring of sectors that wear equally.
//!
//! Pages are numbered from 1 and a page's number determines its place in the ring, so that a torn
//! page that reads as valid later never has the number of a newer one. A sector is erased right
//! before its first page is written; the previous record is in another sector.

use embedded_storage::nor_flash::NorFlash;

use super::SavedState;
use super::record::{decode, encode};
use super::region::{PAGE, PAGES, Region, Unwritable, is_marked};

/// Sectors of the ring.
pub const JOURNAL_SECTORS: usize = 4;

const MAGIC: [u8; 4] = *b"GLJ3";
const RING: u32 = (JOURNAL_SECTORS * PAGES) as u32;
/// Pages tried for a record: two sectors, so that the sector with the newest record is never
/// erased.
const TRIES: usize = 2 * PAGES;

/// The number of the newest record, 0 without one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Journal(u32);

/// Returns the place of a page in the ring.
const fn place(number: u32) -> usize {
    (number.wrapping_sub(1) % RING) as usize
}

impl Journal {
    /// Finds the newest record. A record that may be incomplete is written again before it is used.
    pub(super) fn open<F: NorFlash>(region: &mut Region<F>) -> (Self, SavedState) {
        let mut journal = Self::default();
        let (mut saved, mut whole) = (SavedState::default(), true);
        for page in 0..RING as usize {
            let bytes = region.page(page);
            if let Some((number, found)) = decode::<SavedState>(MAGIC, &bytes)
                && number > journal.0
                && place(number) == page
            {
                journal = Self(number);
                (saved, whole) = (found, is_marked(&bytes));
            }
        }
        (region.erases, region.programs) = (saved.erases, saved.programs);
        if !whole {
            // If the flash cannot be written any more, the record that was read is used.
            let _ = journal.append(region, &mut saved);
        }
        (journal, saved)
    }

    /// Writes a record after the newest one, with the number of operations up to it.
    pub(super) fn append<F: NorFlash>(
        &mut self,
        region: &mut Region<F>,
        saved: &mut SavedState,
    ) -> Result<(), Unwritable> {
        // One erasure of the ring uses 64 numbers: the flash wears out before they are used up.
        for number in (self.0.saturating_add(1)..).take(TRIES) {
            let page = place(number);
            let erased = !page.is_multiple_of(PAGES) || region.erase(page / PAGES).is_ok();
            // Counts the record itself and its mark.
            (saved.erases, saved.programs) = (region.erases, region.programs.saturating_add(2));
            let record = encode(MAGIC, number, saved).ok_or(Unwritable)?;
            // A page that a power cut left half written is skipped.
            let free = erased && region.page(page) == [0xFF; PAGE];
            if free && region.program(page, &record).is_ok() && region.mark(page).is_ok() {
                *self = Self(number);
                return Ok(());
            }
        }
        Err(Unwritable)
    }
}
