//! What a chip looks like from outside: memory that can be read and flash that can be written.
//!
//! A debug probe implements all of it, an emulator the memory, a test whatever it needs.

use std::fmt;

/// A chip did not do what it was asked to, in words for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

impl Fault {
    /// Puts an error and what caused it into one line.
    #[must_use]
    pub fn from_error(error: &dyn std::error::Error) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let words = error.to_string();
            if !text.contains(&words) {
                text = format!("{text}: {words}");
            }
            cause = error.source();
        }
        Self(text)
    }
}

/// The memory of a chip, while it runs.
pub trait Memory {
    /// Reads bytes from an address on.
    ///
    /// # Errors
    /// When the chip does not answer.
    fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), Fault>;

    /// Writes bytes to RAM from an address on.
    ///
    /// # Errors
    /// When the chip does not answer.
    fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Fault>;

    /// Reads a word.
    ///
    /// # Errors
    /// When the chip does not answer.
    fn word(&mut self, address: u32) -> Result<u32, Fault> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
}

/// A chip whose flash can be written.
pub trait Target: Memory {
    /// Erases, writes and verifies a part of the flash.
    ///
    /// # Errors
    /// When the chip refuses or holds something else afterwards.
    fn program(&mut self, part: &Part, watch: &mut dyn Watch) -> Result<(), Fault>;

    /// Starts the program from its beginning.
    ///
    /// # Errors
    /// When the chip does not answer.
    fn restart(&mut self) -> Result<(), Fault>;
}

/// A stretch of flash with a purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is: the firmware or the shard.
    pub what: &'static str,
    /// Its first address.
    pub address: u32,
    /// What it should hold.
    pub bytes: Vec<u8>,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, address) = (self.bytes.len(), self.address);
        write!(f, "{}, {bytes} bytes at {address:#010x}", self.what)
    }
}

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Reading the flash to see whether it is right already.
    Compare,
    /// Erasing sectors.
    Erase,
    /// Writing pages.
    Write,
    /// Reading back what was written.
    Verify,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Compare => "compare",
            Self::Erase => "erase",
            Self::Write => "write",
            Self::Verify => "verify",
        })
    }
}

/// Who is told how far the work is.
pub trait Watch {
    /// A step of so many bytes begins.
    fn begin(&mut self, part: &Part, step: Step, bytes: u64);
    /// So many more bytes are done.
    fn advance(&mut self, bytes: u64);
}

/// Nobody is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn begin(&mut self, _part: &Part, _step: Step, _bytes: u64) {}
    fn advance(&mut self, _bytes: u64) {}
}
