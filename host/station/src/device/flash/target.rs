//! Access to a chip from outside: memory that can be read, and flash that can be written.
//!
//! A debug probe implements all traits, an emulator the memory alone.

use std::fmt;

/// Error of a chip, as text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

impl Fault {
    /// Joins an error and its causes in one line.
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

/// The memory of a running chip.
pub trait Memory {
    /// Reads bytes, starting at an address.
    ///
    /// # Errors
    /// Returns an error if the chip does not answer.
    fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), Fault>;

    /// Writes bytes to RAM, starting at an address.
    ///
    /// # Errors
    /// Returns an error if the chip does not answer.
    fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Fault>;

    /// Reads a little-endian word of 32 bits.
    ///
    /// # Errors
    /// Returns an error if the chip does not answer.
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
    /// Returns an error if the chip refuses, or if verification fails.
    fn program(&mut self, part: &Part, watch: &mut dyn Watch) -> Result<(), Fault>;

    /// Resets the chip and starts the program.
    ///
    /// # Errors
    /// Returns an error if the chip does not answer.
    fn restart(&mut self) -> Result<(), Fault>;
}

/// A range of flash and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name of the part: firmware or shard.
    pub what: &'static str,
    /// First address of the range.
    pub address: u32,
    /// Content of the range.
    pub bytes: Vec<u8>,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, address) = (self.bytes.len(), self.address);
        write!(f, "{}, {bytes} bytes at {address:#010x}", self.what)
    }
}

/// A step of flashing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Comparing the flash with the part.
    Compare,
    /// Erasing the sectors of the part.
    Erase,
    /// Writing the pages of the part.
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

/// Observer of the progress of flashing.
pub trait Watch {
    /// Called when a step of `bytes` bytes begins.
    fn begin(&mut self, part: &Part, step: Step, bytes: u64);
    /// Called with the bytes done since the last call.
    fn advance(&mut self, bytes: u64);
}

/// An observer that ignores the progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn begin(&mut self, _part: &Part, _step: Step, _bytes: u64) {}
    fn advance(&mut self, _bytes: u64) {}
}
