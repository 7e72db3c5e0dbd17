//! One block of RAM with two uses at different times: the model in training, and the bytes of an
//! incoming transfer.
//!
//! Two copies of the paper's model and the error rows of a thousand samples leave an RP2040 no room
//! for a third buffer of 80 KB.
#![allow(unsafe_code)]

use crate::model::{Params, STORE_BYTES};

/// Parameters that can be accessed as bytes.
#[repr(transparent)]
pub struct Local(Params);

impl Local {
    /// Returns zeroed memory for a static.
    pub const fn new() -> Self {
        Self(Params::new())
    }

    /// Returns the memory as parameters; after a transfer their values are meaningless.
    pub const fn params(&mut self) -> &mut Params {
        &mut self.0
    }

    /// Returns the memory as bytes.
    pub const fn bytes(&mut self) -> &mut [u8] {
        const { assert!(Params::NUMBER_BYTES == STORE_BYTES) };
        // SAFETY: `Params` is `repr(C)` and begins with integers without padding (their bytes are as
        // many as those of the exact form, checked above), so every byte is initialised and every
        // value of a byte leaves valid integers; the exclusive borrow lasts as long as the slice.
        unsafe { core::slice::from_raw_parts_mut((&raw mut self.0).cast(), STORE_BYTES) }
    }
}
