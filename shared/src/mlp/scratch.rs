//! Memory that training needs only while it runs and that has another use before and after: plain
//! words, used as error rows or as bytes.
#![allow(unsafe_code)]

use core::mem::{align_of, size_of};

use super::kernel::ErrorRow;

/// Returns how many words of scratch `samples` samples take with `HID` hidden units.
#[must_use]
pub const fn scratch_words<const HID: usize>(samples: usize) -> usize {
    samples * (size_of::<ErrorRow<HID>>() / size_of::<u32>())
}

/// A block of scratch memory, aligned to words.
#[derive(Clone, Debug)]
#[repr(transparent)]
pub struct Scratch<const WORDS: usize>([u32; WORDS]);

impl<const WORDS: usize> Scratch<WORDS> {
    /// Returns a cleared block.
    pub const fn new() -> Self {
        Self([0; WORDS])
    }

    /// Returns the words, as training takes them.
    pub const fn words(&mut self) -> &mut [u32] {
        &mut self.0
    }

    /// Returns the same memory as bytes, to collect or to send a model while nothing trains.
    pub const fn bytes(&mut self) -> &mut [u8] {
        let length = size_of::<[u32; WORDS]>();
        // SAFETY: the words are initialised, `u8` has no alignment and no invalid value, and the
        // exclusive borrow of `self` lasts as long as the slice.
        unsafe { core::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), length) }
    }

    /// Returns so many bytes for a coded update and the rest as words to code it with; `None` if there
    /// are fewer bytes.
    pub fn coding(&mut self, bytes: usize) -> Option<(&mut [u8], &mut [i32])> {
        let (out, work) = self
            .0
            .split_at_mut_checked(bytes.div_ceil(size_of::<u32>()))?;
        // SAFETY: as in `bytes`; `bytes` of them lie within `out`. Words of either sign have the same
        // size, alignment and valid values. The two parts do not overlap, and both borrows last as long
        // as that of `self`.
        unsafe {
            Some((
                core::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), bytes),
                core::slice::from_raw_parts_mut(work.as_mut_ptr().cast(), work.len()),
            ))
        }
    }
}

/// Returns words as error rows, as many as fit.
pub(super) const fn error_rows<const HID: usize>(words: &mut [u32]) -> &mut [ErrorRow<HID>] {
    const { assert!(size_of::<ErrorRow<HID>>().is_multiple_of(size_of::<u32>())) };
    const { assert!(align_of::<ErrorRow<HID>>() == align_of::<u32>()) };
    let rows = size_of_val(words) / size_of::<ErrorRow<HID>>();
    // SAFETY: a row has the alignment of a word, consists of integers without invalid values and
    // is only ever written field by field, which leaves every byte initialised; `rows` of them
    // lie within the words, whose exclusive borrow lasts as long as the slice.
    unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), rows) }
}
