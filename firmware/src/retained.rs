//! What survives a reset: a small record in RAM that start-up code does not clear, with a
//! checksum, since after a power cut the RAM holds noise.

use crc::{CRC_32_ISO_HDLC, Crc};
use gleaner_shared::energy::Snapshot;
use gleaner_shared::wire::message::{RoundMark, RunId};
use serde::{Deserialize, Serialize};

use crate::round_energy::Unfinished;

/// Bytes of the record in memory.
pub const RECORD_BYTES: usize = 288;

const MAGIC: [u8; 4] = *b"GLK3";
const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
const BODY: usize = 8;

/// Memory that keeps its content over a reset.
pub trait Retained {
    /// Reads all of it, noise included.
    fn read(&self) -> [u8; RECORD_BYTES];

    /// Writes all of it.
    fn write(&mut self, bytes: &[u8; RECORD_BYTES]);
}

impl<M: Retained> Retained for &mut M {
    fn read(&self) -> [u8; RECORD_BYTES] {
        (**self).read()
    }

    fn write(&mut self, bytes: &[u8; RECORD_BYTES]) {
        (**self).write(bytes);
    }
}

/// Memory of a board that keeps nothing, and of tests.
impl Retained for [u8; RECORD_BYTES] {
    fn read(&self) -> [u8; RECORD_BYTES] {
        *self
    }

    fn write(&mut self, bytes: &[u8; RECORD_BYTES]) {
        *self = *bytes;
    }
}

/// The store as it stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedLedger {
    /// The run it belongs to.
    pub run: RunId,
    /// The client it belongs to.
    pub client: u32,
    /// All counters.
    pub snapshot: Snapshot,
    /// The round whose income was booked last, so that no round pays twice.
    pub income_round: Option<u32>,
}

/// The record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Starts since the memory was noise; makes every start different.
    pub boots: u32,
    /// The store, if the board was ever provisioned.
    pub ledger: Option<SavedLedger>,
    /// The round whose waiting is not charged yet.
    pub unfinished: Option<Unfinished>,
    /// How often the books ran dry.
    pub brownouts: u32,
    /// The last round the base station closed.
    pub last_round: Option<RoundMark>,
}

impl Record {
    /// Reads the record; `None` where the memory holds noise.
    pub fn load(memory: &impl Retained) -> Option<Self> {
        Self::parse(&memory.read())
    }

    /// Writes the record.
    pub fn store(&self, memory: &mut impl Retained) {
        let mut bytes = [0; RECORD_BYTES];
        // A record that did not fit would be lost at the next reset, as after a power cut.
        if postcard::to_slice(self, &mut bytes[BODY..]).is_ok() {
            bytes[..4].copy_from_slice(&MAGIC);
            let crc = CRC32.checksum(&bytes[BODY..]);
            bytes[4..BODY].copy_from_slice(&crc.to_le_bytes());
        }
        memory.write(&bytes);
    }

    fn parse(bytes: &[u8; RECORD_BYTES]) -> Option<Self> {
        let (head, body) = bytes.split_at(BODY);
        let crc = CRC32.checksum(body).to_le_bytes();
        if head[..4] != MAGIC || head[4..] != crc {
            return None;
        }
        postcard::from_bytes(body).ok()
    }
}

#[cfg(test)]
mod tests {
    use gleaner_shared::energy::{Phase, Spent};
    use gleaner_shared::units::{Cycles, Micros, PicoJoules};
    use gleaner_shared::wire::message::ModelHash;

    use super::*;

    fn largest() -> Record {
        let most = PicoJoules::MAX;
        Record {
            boots: u32::MAX,
            ledger: Some(SavedLedger {
                run: RunId([0xFF; 16]),
                client: u32::MAX,
                snapshot: Snapshot {
                    initial: most,
                    stored: most,
                    harvested: most,
                    conversion: most,
                    overflow: most,
                    leaked: most,
                    spent: Spent([most; Phase::COUNT]),
                    rounds: u32::MAX,
                },
                income_round: Some(u32::MAX),
            }),
            unfinished: Some(Unfinished {
                listening: Micros::MAX,
                heard: true,
                cycles: Cycles::MAX,
                window: Micros::MAX,
                period: Micros::MAX,
            }),
            brownouts: u32::MAX,
            last_round: Some(RoundMark {
                run: RunId([0xFF; 16]),
                round: u32::MAX,
                model: ModelHash([0xFF; 16]),
            }),
        }
    }

    #[test]
    fn the_largest_record_comes_back() {
        let mut memory = [0xA5; RECORD_BYTES];
        largest().store(&mut memory);
        assert_eq!(Record::load(&memory), Some(largest()));
    }

    #[test]
    fn noise_is_no_record() {
        let mut memory = [0xA5; RECORD_BYTES];
        assert_eq!(Record::load(&memory), None);
        largest().store(&mut memory);
        for bit in 0..RECORD_BYTES * 8 {
            let mut flipped = memory;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Record::load(&flipped), None, "bit {bit}");
        }
    }
}
