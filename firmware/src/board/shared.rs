//! One flash with several users on one core: keys, state, and samples of an application.

use core::cell::RefCell;

use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

/// A flash with several owners; every call ends before the next one begins.
pub struct SharedFlash<F: 'static>(&'static RefCell<F>);

impl<F> SharedFlash<F> {
    pub(super) const fn new(flash: &'static RefCell<F>) -> Self {
        Self(flash)
    }
}

impl<F> Clone for SharedFlash<F> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<F: ErrorType> ErrorType for SharedFlash<F> {
    type Error = F::Error;
}

impl<F: ReadNorFlash> ReadNorFlash for SharedFlash<F> {
    const READ_SIZE: usize = F::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), F::Error> {
        self.0.borrow_mut().read(offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.0.borrow().capacity()
    }
}

impl<F: NorFlash> NorFlash for SharedFlash<F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), F::Error> {
        self.0.borrow_mut().erase(from, to)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), F::Error> {
        self.0.borrow_mut().write(offset, bytes)
    }
}
