//! Flash for keys and state on a machine without flash: code memory, which a reset leaves
//! unchanged, under the rules of flash. It starts as zeros, which are no valid record.

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

use super::supply;

const SECTOR_BYTES: usize = 4_096;

/// Sectors reserved by the linker script; clones access the same memory.
#[derive(Clone)]
pub struct RamFlash {
    base: *mut u8,
    capacity: usize,
}

/// An address outside the reserved sectors.
#[derive(Clone, Copy, Debug)]
pub struct OutOfBounds;

impl NorFlashError for OutOfBounds {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::OutOfBounds
    }
}

impl RamFlash {
    /// Takes `sectors` sectors from `address` on; a board calls it once.
    pub(super) const fn new(address: usize, sectors: usize) -> Self {
        Self {
            base: address as *mut u8,
            capacity: sectors * SECTOR_BYTES,
        }
    }

    /// Returns the address of each byte from `offset` on.
    fn places(
        &self,
        offset: u32,
        len: usize,
    ) -> Result<impl Iterator<Item = *mut u8> + use<>, OutOfBounds> {
        let (base, start) = (self.base, offset as usize);
        let end = start.checked_add(len);
        let inside = end.is_some_and(|end| end <= self.capacity);
        // The arithmetic cannot wrap: the range lies inside the sectors.
        let places = (start..start + len).map(move |at| base.wrapping_add(at));
        inside.then_some(places).ok_or(OutOfBounds)
    }
}

impl ErrorType for RamFlash {
    type Error = OutOfBounds;
}

impl ReadNorFlash for RamFlash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), OutOfBounds> {
        for (place, byte) in self.places(offset, bytes.len())?.zip(bytes) {
            // SAFETY: the linker script reserves the sectors in the machine's code memory, which
            // is RAM, and this value and its clones alone touch them, on one core.
            *byte = unsafe { place.read_volatile() };
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

impl NorFlash for RamFlash {
    const WRITE_SIZE: usize = 8;
    const ERASE_SIZE: usize = SECTOR_BYTES;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), OutOfBounds> {
        let len = to.checked_sub(from).ok_or(OutOfBounds)? as usize;
        let torn = supply::fails();
        for place in self.places(from, if torn { len / 2 } else { len })? {
            // SAFETY: as in `read`.
            unsafe { place.write_volatile(0xFF) };
        }
        if torn { supply::cut() } else { Ok(()) }
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), OutOfBounds> {
        let torn = supply::fails();
        let len = bytes.len() / if torn { 2 } else { 1 };
        for (place, byte) in self.places(offset, len)?.zip(bytes) {
            // SAFETY: as in `read`.
            unsafe { place.write_volatile(place.read_volatile() & byte) };
        }
        if torn { supply::cut() } else { Ok(()) }
    }
}
