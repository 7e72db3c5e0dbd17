//! Memory that the linker script lays out: shard, state, keys, stack, RAM that start-up does not
//! clear, and the client's large static.

use core::mem::MaybeUninit;
use core::ptr;

use static_cell::ConstStaticCell;

use crate::model::{BOARD, MAX_SAMPLES, Memory};
use crate::platform::StackUse;
use crate::retained::{RECORD_BYTES, Retained};
use crate::saved;

unsafe extern "C" {
    static _shard_start: u8;
    static _shard_end: u8;
    static _state_start: u8;
    static _keys_start: u8;
    static _stack_start: u32;
    static _stack_end: u32;
}

/// The word that `cortex-m-rt` paints the stack with before `main`.
pub(super) const PAINT: u32 = cortex_m_rt::STACK_PAINT_VALUE;

/// Returns the flash region of the shard.
pub fn shard() -> &'static [u8] {
    // SAFETY: the linker script reserves [_shard_start, _shard_end) in flash, which is readable,
    // initialised (erased flash reads as ones) and never written while this program runs.
    unsafe {
        let start = &raw const _shard_start;
        let length = (&raw const _shard_end).offset_from_unsigned(start);
        core::slice::from_raw_parts(start, length)
    }
}

/// Returns the address of the state: [`SECTORS`](crate::saved::SECTORS) erase sectors that nothing
/// else uses.
pub fn state_address() -> usize {
    const { assert!(BOARD.state_bytes as usize == saved::SECTORS * saved::SECTOR) };
    // Takes only the address of the linker's symbol.
    (&raw const _state_start).addr()
}

/// Returns the address of the keys: two erase sectors that nothing else uses.
pub fn keys_address() -> usize {
    // Takes only the address of the linker's symbol.
    (&raw const _keys_start).addr()
}

/// Measures the stack by counting the paint that was never overwritten.
pub fn stack_use() -> StackUse {
    let top = &raw const _stack_start;
    let bottom = &raw const _stack_end;
    let mut lowest_used = bottom;
    // SAFETY: [_stack_end, _stack_start) is RAM reserved for the stack; volatile reads of it
    // cannot race with anything that matters, since only untouched paint is looked for.
    unsafe {
        while lowest_used < top && ptr::read_volatile(lowest_used) == PAINT {
            lowest_used = lowest_used.add(1);
        }
        StackUse {
            available_bytes: top.byte_offset_from_unsigned(bottom) as u32,
            used_bytes: top.byte_offset_from_unsigned(lowest_used) as u32,
        }
    }
}

/// The largest number of samples, exported so that a reader of the image finds it.
// SAFETY: no other symbol of the image has this name.
#[unsafe(no_mangle)]
static GLEANER_MAX_SAMPLES: u32 = MAX_SAMPLES as u32;

/// Returns the client's memory, once.
///
/// # Panics
/// When called again.
pub fn client_memory() -> &'static mut Memory {
    static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new());
    MEMORY.take()
}

#[unsafe(link_section = ".retained.retained")]
static mut RETAINED: MaybeUninit<[u8; RECORD_BYTES]> = MaybeUninit::uninit();

/// RAM whose content survives a reset.
pub struct RetainedRam(());

impl RetainedRam {
    /// Returns access to the record; a board calls it once.
    pub(super) const fn new() -> Self {
        Self(())
    }
}

impl Retained<RECORD_BYTES> for RetainedRam {
    fn read(&self) -> [u8; RECORD_BYTES] {
        // SAFETY: the section is RAM, so a volatile read yields some bytes, and bytes have no
        // invalid value; nobody else holds the static.
        unsafe { ptr::read_volatile((&raw const RETAINED).cast()) }
    }

    fn write(&mut self, bytes: &[u8; RECORD_BYTES]) {
        // SAFETY: as in `read`; `&mut self` is the only writer.
        unsafe { ptr::write_volatile((&raw mut RETAINED).cast(), *bytes) }
    }
}
