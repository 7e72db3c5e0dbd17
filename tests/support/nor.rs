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

#[derive(Clone)]
struct Chip {
    bytes: Vec<u8>,
    torn: Vec<Torn>,
    /// What was done since somebody wanted to know.
    trace: Option<Vec<Operation>>,
    /// Operations until the power fails.
    left: Option<u32>,
    dead: bool,
    /// A bit that does not take a zero any more.
    worn: Option<(usize, u8)>,
    operations: u32,
    rng: Rng,
}

/// A word programmed or a sector erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Offset of the first byte.
    pub at: usize,
    /// What is there afterwards.
    pub after: Vec<u8>,
}

impl Operation {
    /// Tells whether a sector was erased.
    #[must_use]
    pub const fn is_erasure(&self) -> bool {
        self.after.len() == SECTOR
    }
}

/// A word where power failed: what was there, and what was to be there.
#[derive(Clone)]
struct Torn {
    /// Which accident it was part of.
    accident: u32,
    at: usize,
    before: [u8; WORD],
    after: [u8; WORD],
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
            trace: None,
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

    /// Begins to write down what is done.
    pub fn start_trace(&self) {
        self.chip().trace = Some(Vec::new());
    }

    /// Returns what was done since [`start_trace`](Self::start_trace).
    #[must_use]
    pub fn trace(&self) -> Vec<Operation> {
        self.chip().trace.clone().unwrap_or_default()
    }

    /// Returns another chip with the same contents, whose accidents are drawn from `seed`.
    #[must_use]
    pub fn fork(&self, seed: u64) -> Self {
        let mut chip = self.chip().clone();
        chip.rng = Rng::stream(seed, Purpose::Faults, 0, 0);
        Self(Arc::new(Mutex::new(chip)))
    }

    /// Does what another chip did.
    pub fn apply(&self, operation: &Operation) {
        let done = self.chip().change(operation.at, operation.after.clone());
        done.expect("power");
    }

    /// Loses power in the middle of an operation, and has it back.
    pub fn tear(&self, operation: &Operation) {
        self.chip().tear(operation.at, &operation.after);
        self.power_up();
    }

    /// Brings the power back: what was torn reads as something again.
    pub fn power_up(&self) {
        let mut chip = self.chip();
        let chip = &mut *chip;
        (chip.left, chip.dead) = (None, false);
        let (mut accident, mut progress) = (None, 0);
        for torn in &chip.torn {
            if accident != Some(torn.accident) {
                (accident, progress) = (Some(torn.accident), chip.rng.below(4));
            }
            let Torn {
                at, before, after, ..
            } = torn;
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
        if self.left == Some(0) {
            self.dead = true;
            self.tear(at, &after);
            return Err(Fault::Power);
        }
        self.left = self.left.map(|left| left - 1);
        self.operations += 1;
        self.torn.retain(|torn| !place.contains(&torn.at));
        if let Some(trace) = &mut self.trace {
            let after = after.clone();
            trace.push(Operation { at, after });
        }
        self.bytes[place].copy_from_slice(&after);
        if let Some((at, bits)) = self.worn {
            self.bytes[at] |= bits;
        }
        Ok(())
    }

    /// Leaves bytes somewhere between what they are and what they were to be.
    fn tear(&mut self, at: usize, after: &[u8]) {
        let accident = self.torn.last().map_or(0, |torn| torn.accident + 1);
        let words = self.bytes[at..]
            .chunks_exact(WORD)
            .zip(after.chunks_exact(WORD));
        for (at, (before, after)) in (at..).step_by(WORD).zip(words) {
            self.torn.push(Torn {
                accident,
                at,
                before: before.try_into().unwrap_or_default(),
                after: after.try_into().unwrap_or_default(),
            });
        }
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
