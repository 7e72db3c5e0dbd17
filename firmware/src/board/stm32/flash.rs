//! The chip's flash for keys and state: pages in the second bank, so that the program in the first
//! bank keeps running while they are written.

use core::cell::RefCell;

use cortex_m::peripheral::SCB;
use embassy_stm32::flash::{Blocking, Error, Flash};
use embassy_stm32::peripherals::FLASH;
use embassy_stm32::{Peri, pac};
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use static_cell::StaticCell;

use crate::board::memory;
use crate::board::shared::SharedFlash;
use crate::keys::Slots;
use crate::model::BOARD;
use crate::saved::Region;

const FLASH_BASE: usize = BOARD.flash.start as usize;
/// Page size of a dual-bank flash.
const PAGE_BYTES: usize = BOARD.sector_bytes as usize;

/// The flash behind its data cache.
pub struct NucleoFlash(Flash<'static, Blocking>);

/// The flash type that keys and state are written to.
pub type Pages = SharedFlash<NucleoFlash>;

/// Returns the pages of the keys and of the state; `None` on a chip whose option bytes join the
/// banks, because its pages are twice as long.
pub(super) fn pages(flash: Peri<'static, FLASH>) -> Option<(Slots<Pages>, Region<Pages>)> {
    static CHIP: StaticCell<RefCell<NucleoFlash>> = StaticCell::new();
    has_two_banks().then(|| {
        let flash = &*CHIP.init(RefCell::new(NucleoFlash(Flash::new_blocking(flash))));
        let [keys, state] = [memory::keys_address(), memory::state_address()];
        (
            Slots::new(SharedFlash::new(flash), (keys - FLASH_BASE) as u32),
            Region::new(SharedFlash::new(flash), (state - FLASH_BASE) as u32),
        )
    })
}

/// Returns whether the option bytes divide the flash into two banks.
#[cfg(feature = "board-stm32l4r5")]
fn has_two_banks() -> bool {
    /// DBANK, and DB1M as the library checks it (RM0432, section 3.7.8).
    const TWO_BANKS: u32 = 0b11 << 21;
    pac::FLASH.optr().read().0 & TWO_BANKS == TWO_BANKS
}

/// The STM32L496 of 1 MB has two banks whatever its option bytes say: DUALBANK is for the smaller
/// ones (RM0351, section 3.4.1).
#[cfg(feature = "board-stm32l496")]
const fn has_two_banks() -> bool {
    true
}

/// Flushes the data cache of the flash, which a write does not do (RM0432, section 3.3.6).
fn flush_cache() {
    pac::FLASH.acr().modify(|acr| acr.set_dcen(false));
    pac::FLASH.acr().modify(|acr| acr.set_dcrst(true));
    pac::FLASH.acr().modify(|acr| acr.set_dcrst(false));
    pac::FLASH.acr().modify(|acr| acr.set_dcen(true));
}

/// Handles an ECC error: a word whose programming was interrupted by a power cut may not fit its
/// error correction. The reader's checksum detects the damage.
// SAFETY: it writes the error flag of the flash alone, which nothing else uses.
#[cortex_m_rt::exception]
unsafe fn NonMaskableInt() {
    let errors = pac::FLASH.eccr().read();
    if !errors.eccd() {
        SCB::sys_reset();
    }
    // Writing one clears the flag. If the handler returns before the write has reached the flash,
    // it is entered again and finds no flag.
    pac::FLASH.eccr().write_value(errors);
    pac::FLASH.eccr().read();
    cortex_m::asm::dsb();
}

impl ErrorType for NucleoFlash {
    type Error = Error;
}

impl ReadNorFlash for NucleoFlash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        self.0.blocking_read(offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl NorFlash for NucleoFlash {
    const WRITE_SIZE: usize = <Flash<'static, Blocking> as NorFlash>::WRITE_SIZE;
    const ERASE_SIZE: usize = {
        assert!(<Flash<'static, Blocking> as NorFlash>::ERASE_SIZE == PAGE_BYTES);
        PAGE_BYTES
    };

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        let erased = self.0.blocking_erase(from, to);
        flush_cache();
        erased
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        let written = self.0.blocking_write(offset, bytes);
        flush_cache();
        written
    }
}
