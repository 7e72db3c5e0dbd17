//! The journal: one page for every closed round, in a ring of sectors that wear alike.
//!
//! Pages are numbered from 1 and a page's number says where in the ring it is, so that one that
//! lost its power half way and reads as good one day never has the number of a later one. A sector
//! is erased right before its first page is written; the record before is in another sector.

use embedded_storage::nor_flash::NorFlash;

use super::SavedState;
use super::record::{decode, encode};
use super::region::{PAGE, PAGES, Region, Unwritable, is_marked};

/// Sectors of the ring.
pub const JOURNAL_SECTORS: usize = 4;

const MAGIC: [u8; 4] = *b"GLJ2";
const RING: u32 = (JOURNAL_SECTORS * PAGES) as u32;
/// Pages tried for a record: two sectors, so that the one with the newest record is never among
/// those erased.
const TRIES: usize = 2 * PAGES;

/// Where the journal stands: the number of its newest record, 0 without one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Journal(u32);

/// Returns where in the ring the page of a number is.
const fn place(number: u32) -> usize {
    (number.wrapping_sub(1) % RING) as usize
}

impl Journal {
    /// Finds the newest record. One that may not be whole is written again before anybody relies
    /// on it.
    pub(super) fn open<F: NorFlash>(region: &mut Region<F>) -> (Self, SavedState) {
        let mut journal = Self::default();
        let (mut kept, mut whole) = (SavedState::default(), true);
        for page in 0..RING as usize {
            let bytes = region.page(page);
            if let Some((number, found)) = decode::<SavedState>(MAGIC, &bytes)
                && number > journal.0
                && place(number) == page
            {
                journal = Self(number);
                (kept, whole) = (found, is_marked(&bytes));
            }
        }
        (region.erases, region.programs) = (kept.erases, kept.programs);
        if !whole {
            // Flash that takes no more has said its last word, and that was read.
            let _ = journal.append(region, &mut kept);
        }
        (journal, kept)
    }

    /// Writes a record behind the newest one, with the operations counted up to it.
    pub(super) fn append<F: NorFlash>(
        &mut self,
        region: &mut Region<F>,
        kept: &mut SavedState,
    ) -> Result<(), Unwritable> {
        // 64 numbers an erasure of the ring: flash is worn out long before they are.
        for number in (self.0.saturating_add(1)..).take(TRIES) {
            let page = place(number);
            let erased = !page.is_multiple_of(PAGES) || region.erase(page / PAGES).is_ok();
            // Its own two are counted: the record and its mark.
            (kept.erases, kept.programs) = (region.erases, region.programs.saturating_add(2));
            let record = encode(MAGIC, number, kept).ok_or(Unwritable)?;
            // What a power cut left half written stays where it is.
            let free = erased && region.page(page) == [0xFF; PAGE];
            if free && region.program(page, &record).is_ok() && region.mark(page).is_ok() {
                *self = Self(number);
                return Ok(());
            }
        }
        Err(Unwritable)
    }
}
