//! NOR flash in memory, with the rules of an STM32's (a word is programmed once, except with zeros)
//! and a power supply that fails in the middle of any operation.
//!
//! What was torn has no value of its own: at every start its bits read anew as done, not done, or
//! anything between, until it is erased or programmed to its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use gleaner_shared::rng::{Purpose, Rng};

/// Bytes of a word.
pub const WORD: usize = 8;
/// Bytes of a sector.
pub const SECTOR: usize = 4_096;

/// A flash chip; clones are the same chip.
#[derive(Clone)]
pub struct Nor(Arc<Mutex<Chip>>);

struct Chip {
    bytes: Vec<u8>,
    torn: Vec<Torn>,
    /// Operations until the power fails.
    left: Option<u32>,
    dead: bool,
    /// A bit that does not take a zero any more.
    worn: Option<(usize, u8)>,
    operations: u32,
    rng: Rng,
}

/// A place where power failed: what was there, and what was to be there.
struct Torn {
    at: usize,
    before: Vec<u8>,
    after: Vec<u8>,
}

/// Why an operation was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power is gone.
    Power,
    /// A word that is not erased, or an address that does not fit.
    Misuse,
}

impl NorFlashError for Fault {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl Nor {
    /// Returns a new chip of so many sectors, whose accidents are drawn from `seed`.
    #[must_use]
    pub fn new(sectors: usize, seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Chip {
            bytes: vec![0xFF; sectors * SECTOR],
            torn: Vec::new(),
            left: None,
            dead: false,
            worn: None,
            operations: 0,
            rng: Rng::stream(seed, Purpose::Faults, 0, 0),
        })))
    }

    fn chip(&self) -> MutexGuard<'_, Chip> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the power fail inside the operation that comes after so many others.
    pub fn fail_after(&self, operations: u32) {
        self.chip().left = Some(operations);
    }

    /// Wears bits of a byte out: they stay ones whatever is written, and nobody says so.
    pub fn wear_out(&self, at: usize, bits: u8) {
        self.chip().worn = Some((at, bits));
    }

    /// Tells whether the power has failed.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.chip().dead
    }

    /// Returns how many words were programmed and sectors erased.
    #[must_use]
    pub fn operations(&self) -> u32 {
        self.chip().operations
    }

    /// Tells whether `bytes` stand anywhere on the chip.
    #[must_use]
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.chip().bytes.windows(bytes.len()).any(|at| at == bytes)
    }

    /// Brings the power back: what was torn reads as something again.
    pub fn power_up(&self) {
        let mut chip = self.chip();
        let chip = &mut *chip;
        (chip.left, chip.dead) = (None, false);
        for Torn { at, before, after } in &chip.torn {
            let progress = chip.rng.below(4);
            for (index, (&before, &after)) in before.iter().zip(after).enumerate() {
                let done = match progress {
                    0 => 0,
                    1 => 0xFF,
                    _ => chip.rng.next_u32() as u8,
                };
                chip.bytes[at + index] = (before & !done) | (after & done);
            }
        }
    }
}

impl Chip {
    /// Replaces bytes, unless the power fails.
    fn change(&mut self, at: usize, after: Vec<u8>) -> Result<(), Fault> {
        if self.dead {
            return Err(Fault::Power);
        }
        let place = at..at + after.len();
        let before = self.bytes[place.clone()].to_vec();
        let whole = |torn: &Torn| place.contains(&torn.at);
        if self.left == Some(0) {
            self.dead = true;
            self.torn.push(Torn { at, before, after });
            return Err(Fault::Power);
        }
        self.left = self.left.map(|left| left - 1);
        self.operations += 1;
        self.torn.retain(|torn| !whole(torn));
        self.bytes[place].copy_from_slice(&after);
        if let Some((at, bits)) = self.worn {
            self.bytes[at] |= bits;
        }
        Ok(())
    }
}

impl ErrorType for Nor {
    type Error = Fault;
}

impl ReadNorFlash for Nor {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        let chip = self.chip();
        if chip.dead {
            return Err(Fault::Power);
        }
        let from = offset as usize;
        let found = chip.bytes.get(from..from + bytes.len());
        bytes.copy_from_slice(found.ok_or(Fault::Misuse)?);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.chip().bytes.len()
    }
}

impl NorFlash for Nor {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = SECTOR;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Fault> {
        let (from, to) = (from as usize, to as usize);
        if from % SECTOR != 0 || to % SECTOR != 0 || to > self.capacity() {
            return Err(Fault::Misuse);
        }
        (from..to)
            .step_by(SECTOR)
            .try_for_each(|at| self.chip().change(at, vec![0xFF; SECTOR]))
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Fault> {
        let offset = offset as usize;
        let fits = offset + bytes.len() <= self.capacity();
        let aligned = offset.is_multiple_of(WORD) && bytes.len().is_multiple_of(WORD);
        if !aligned || !fits {
            return Err(Fault::Misuse);
        }
        for (at, word) in (offset..).step_by(WORD).zip(bytes.chunks(WORD)) {
            let mut chip = self.chip();
            let erased = chip.bytes[at..at + WORD] == [0xFF; WORD];
            if !erased && *word != [0; WORD] {
                return Err(Fault::Misuse);
            }
            chip.change(at, word.to_vec())?;
        }
        Ok(())
    }
}
