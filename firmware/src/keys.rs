//! Keys that a board received after its shard: two flash slots, written so that a power cut at any
//! moment leaves a key that the base station holds.
//!
//! A slot is one erase sector; its first 72 bytes are used, the rest stays erased:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | magic `GLKY` |
//! | 4 | 4 | generation, from 1 |
//! | 8 | 32 | key |
//! | 40 | 12 | identifies the shard key that generation 0 is |
//! | 52 | 4 | CRC-32 of all before |
//! | 56 | 8 | zeros: a host has used the key, the previous one is deleted |
//! | 64 | 8 | zeros: the deletion is complete |
//!
//! A new key is written into the slot that does not hold the session's key. The marks are separate
//! words, because flash with error correction programs a word once; it allows zeros over anything,
//! so a torn mark is written again. A word or sector that lost power may read differently at every
//! start, so an unfinished operation is repeated from its beginning at the next start.
//!
//! A shard with another key than the slots refer to starts a new history at generation 0.

use crc::{CRC_32_ISO_HDLC, Crc};
use embedded_storage::nor_flash::NorFlash;
use gleaner_shared::wire::keys::ORIGIN_BYTES;
use gleaner_shared::wire::message::RekeyRefusal;
use gleaner_shared::wire::{DeviceKeys, Generation, Key};

const MAGIC: [u8; 4] = *b"GLKY";
const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
const CHECKED_BYTES: usize = 52;
const RECORD_BYTES: usize = 56;
/// The largest word that a flash may program.
const WORD_BYTES: usize = 8;
const CONFIRMED_AT: usize = RECORD_BYTES;
const FINISHED_AT: usize = CONFIRMED_AT + WORD_BYTES;
const SLOT_BYTES: usize = FINISHED_AT + WORD_BYTES;

/// Two adjacent erase sectors.
#[derive(Debug)]
pub struct Slots<F> {
    flash: F,
    offset: u32,
}

/// The flash could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unwritable;

/// The content of a slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    generation: Option<Generation>,
    confirmed: bool,
    finished: bool,
}

impl<F: NorFlash> Slots<F> {
    /// Takes the two sectors of `flash` from `offset` on, which nothing else uses.
    pub const fn new(flash: F, offset: u32) -> Self {
        const { assert!(WORD_BYTES.is_multiple_of(F::WRITE_SIZE)) };
        Self { flash, offset }
    }

    fn at(&self, slot: usize) -> u32 {
        self.offset + (slot * F::ERASE_SIZE) as u32
    }

    /// Returns the start of a slot; unreadable flash returns no valid record.
    fn bytes(&mut self, slot: usize) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        match self.flash.read(self.at(slot), &mut bytes) {
            Ok(()) => bytes,
            Err(_) => [0; SLOT_BYTES],
        }
    }

    fn read(&mut self, slot: usize, origin: &[u8; ORIGIN_BYTES]) -> Slot {
        let bytes = self.bytes(slot);
        let is_zero = |at: usize| bytes[at..at + WORD_BYTES] == [0; WORD_BYTES];
        Slot {
            generation: decode(&bytes, origin),
            confirmed: is_zero(CONFIRMED_AT),
            finished: is_zero(FINISHED_AT),
        }
    }

    fn erase(&mut self, slot: usize) -> Result<(), Unwritable> {
        let from = self.at(slot);
        let to = from + F::ERASE_SIZE as u32;
        self.flash.erase(from, to).map_err(|_| Unwritable)
    }

    /// Writes a record into an erased slot and reads it back.
    fn write(&mut self, slot: usize, record: &[u8; RECORD_BYTES]) -> Result<(), Unwritable> {
        self.erase(slot)?;
        let at = self.at(slot);
        self.flash.write(at, record).map_err(|_| Unwritable)?;
        let (written, marks) = (self.bytes(slot), [0xFF; SLOT_BYTES - RECORD_BYTES]);
        let good = written[..RECORD_BYTES] == *record && written[RECORD_BYTES..] == marks;
        good.then_some(()).ok_or(Unwritable)
    }

    fn mark(&mut self, slot: usize, mark: usize) -> Result<(), Unwritable> {
        let at = self.at(slot) + mark as u32;
        let zeros = [0; WORD_BYTES];
        self.flash.write(at, &zeros).map_err(|_| Unwritable)?;
        let good = self.bytes(slot)[mark..mark + WORD_BYTES] == zeros;
        good.then_some(()).ok_or(Unwritable)
    }

    /// Deletes the key before that of `slot` permanently.
    fn finish(&mut self, slot: usize) -> Result<(), Unwritable> {
        self.mark(slot, CONFIRMED_AT)?;
        self.erase(other(slot))?;
        self.mark(slot, FINISHED_AT)
    }
}

const fn other(slot: usize) -> usize {
    1 - slot
}

fn encode(generation: &Generation, origin: &[u8; ORIGIN_BYTES]) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..8].copy_from_slice(&generation.number.to_le_bytes());
    bytes[8..40].copy_from_slice(generation.key.expose());
    bytes[40..CHECKED_BYTES].copy_from_slice(origin);
    let crc = CRC32.checksum(&bytes[..CHECKED_BYTES]);
    bytes[CHECKED_BYTES..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Returns the key of a valid record that belongs to this shard's history.
fn decode(bytes: &[u8; SLOT_BYTES], origin: &[u8; ORIGIN_BYTES]) -> Option<Generation> {
    let (number, _) = bytes[4..].split_first_chunk()?;
    let (key, _) = bytes[8..].split_first_chunk()?;
    let generation = Generation {
        number: u32::from_le_bytes(*number),
        key: Key::new(*key),
    };
    let good = generation.number > 0 && generation.key.is_secret();
    (good && bytes[..RECORD_BYTES] == encode(&generation, origin)).then_some(generation)
}

/// The keys of a board.
#[derive(Debug)]
pub struct KeyStore<F> {
    slots: Option<Slots<F>>,
    shard: Key,
    held: DeviceKeys,
}

impl<F: NorFlash> KeyStore<F> {
    /// Reads the slots and completes what a power cut interrupted. Without slots, or without a key
    /// in the shard, the shard's key is the only one.
    pub fn open(slots: Option<Slots<F>>, shard: Key) -> Self {
        let mut store = Self {
            slots: slots.filter(|_| shard.is_secret()),
            shard,
            held: shard.into(),
        };
        store.recover();
        store
    }

    /// Returns the keys that the link uses.
    pub const fn held(&self) -> DeviceKeys {
        self.held
    }

    #[inline(never)]
    fn recover(&mut self) {
        let origin = self.shard.origin();
        let Some(slots) = &mut self.slots else { return };
        let found = [0, 1].map(|slot| slots.read(slot, &origin));
        let number = |slot: &usize| found[*slot].generation.map(|it| it.number);
        let Some(at) = [0, 1].into_iter().max_by_key(number) else {
            return;
        };
        let Some(newest) = found[at].generation else {
            return;
        };
        self.held = newest.into();
        let before = match newest.number - 1 {
            0 => Some(self.shard.into()),
            number => found[other(at)].generation.filter(|it| it.number == number),
        };
        match before {
            Some(previous) if !found[at].confirmed => {
                // The write may be incomplete: it is repeated before the key is used.
                self.held = match slots.write(at, &encode(&newest, &origin)) {
                    Ok(()) => DeviceKeys {
                        newest,
                        previous: Some(previous),
                    },
                    Err(Unwritable) => previous.into(),
                };
            }
            _ if found[at].finished => {}
            // Only the newest key is used, even if this fails; the next start tries again.
            _ => drop(slots.finish(at)),
        }
    }

    /// Stores the key that follows the session's key, and keeps the session's key until a host has
    /// used the new one.
    ///
    /// # Errors
    /// Returns why the key is not taken. A new key that is replaced before it was used is lost; the
    /// session's key never is.
    // Out of line, because it is called rarely and must not grow the training loop.
    #[cold]
    #[inline(never)]
    pub fn rekey(&mut self, session: u32, next: Generation) -> Result<(), RekeyRefusal> {
        let Some(slots) = &mut self.slots else {
            return Err(match self.shard.is_secret() {
                true => RekeyRefusal::NoStorage,
                false => RekeyRefusal::NoKey,
            });
        };
        let expected = session.saturating_add(1);
        let current = self.held.get(session);
        let (Some(key), true) = (current, next.number == expected && expected > session) else {
            return Err(RekeyRefusal::Generation { expected });
        };
        if !next.key.is_secret() {
            return Err(RekeyRefusal::ZeroKey);
        }
        if self.held.newest == next {
            return Ok(());
        }
        let origin = self.shard.origin();
        let mut holder = |number: u32| {
            [0, 1].into_iter().find(|&slot| {
                let found = slots.read(slot, &origin).generation;
                found.is_some_and(|it| it.number == number)
            })
        };
        let target = match holder(session) {
            Some(slot) => other(slot),
            None => holder(expected).unwrap_or(0),
        };
        let previous = Generation {
            number: session,
            key,
        };
        self.held = previous.into();
        slots
            .write(target, &encode(&next, &origin))
            .map_err(|Unwritable| RekeyRefusal::Storage)?;
        self.held = DeviceKeys {
            newest: next,
            previous: Some(previous),
        };
        Ok(())
    }

    /// Records that a host opened a session: with the newest key, the previous one is deleted.
    pub fn confirm(&mut self, session: u32) {
        if session == self.held.newest.number && self.held.previous.is_some() {
            self.drop_previous();
        }
    }

    #[cold]
    #[inline(never)]
    fn drop_previous(&mut self) {
        let newest = self.held.newest;
        self.held = newest.into();
        let origin = self.shard.origin();
        if let Some(slots) = &mut self.slots {
            let holder = [0, 1]
                .into_iter()
                .find(|&slot| slots.read(slot, &origin).generation == Some(newest));
            // A failure is repaired at the next start.
            if let Some(slot) = holder {
                let _ = slots.finish(slot);
            }
        }
    }
}
