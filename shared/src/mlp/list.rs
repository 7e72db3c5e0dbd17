//! The sparse list of a row sum, and the memory of lists, which both passes of an epoch use.

use super::kernel::Entry;

/// Memory of lists: one of 256 entries in the first pass, four of 128 in the second.
pub(super) type Entries = [Entry; 512];

/// Cleared memory of lists.
pub(super) const NO_ENTRIES: Entries = [Entry { scale: 0, at: 0 }; 512];

/// A list of scaled rows with room for `ROOM` of them, a power of two of at most 256: as many
/// pixels as that add up to less than [`super::kernel::SCALE_LIMIT`].
#[derive(Debug)]
pub(super) struct List<'a, const ROOM: usize> {
    entries: &'a mut [Entry; ROOM],
    length: usize,
}

impl<'a, const ROOM: usize> List<'a, ROOM> {
    /// Returns a list without entries.
    #[inline(always)]
    pub(super) const fn new(entries: &'a mut [Entry; ROOM]) -> Self {
        const { assert!(ROOM.is_power_of_two() && ROOM <= 256) };
        Self { entries, length: 0 }
    }

    /// Returns what is listed.
    #[inline(always)]
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries[..self.length.min(ROOM)]
    }

    /// Returns whether fewer than `more` entries can be added.
    #[inline(always)]
    pub(super) const fn lacks_room(&self, more: usize) -> bool {
        self.length + more > ROOM
    }

    /// Adds an entry, for which there must be room.
    #[inline(always)]
    pub(super) fn push(&mut self, scale: u32, at: u32) {
        debug_assert!(!self.lacks_room(1));
        // The mask costs one instruction, a bounds check three.
        self.entries[self.length & (ROOM - 1)] = Entry { scale, at };
        self.length += 1;
    }

    #[inline(always)]
    pub(super) const fn clear(&mut self) {
        self.length = 0;
    }

    /// Returns the address of the next entry.
    #[cfg(all(target_arch = "arm", target_os = "none"))]
    #[allow(dead_code, reason = "for assembly that appends")]
    pub(super) fn next(&mut self) -> *mut Entry {
        self.entries.as_mut_ptr().wrapping_add(self.length)
    }

    /// Returns the address of the last entry before which there is room for `more`.
    #[cfg(all(target_arch = "arm", target_os = "none"))]
    #[allow(dead_code, reason = "for assembly that appends")]
    pub(super) fn last(&self, more: usize) -> *const Entry {
        self.entries.as_ptr().wrapping_add(ROOM - more)
    }

    /// Lets a kernel append to the entries: it is given all of them and how many are in use, and
    /// returns how many are then.
    #[inline(always)]
    pub(super) fn extend(&mut self, append: impl FnOnce(&mut [Entry; ROOM], usize) -> usize) {
        self.length = append(self.entries, self.length).min(ROOM);
    }
}
