//! The record that survives a reset: RAM that start-up code does not clear, with a checksum,
//! because after a power cut it holds noise.

use crc::{CRC_32_ISO_HDLC, Crc};
use gleaner_shared::energy::Snapshot;
use gleaner_shared::wire::message::{RoundMark, RunId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::round_energy::Unfinished;

/// Size of the ledger's record in RAM.
pub const RECORD_BYTES: usize = 288;

const MAGIC: [u8; 4] = *b"GLK4";
const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
/// Offset of the contents, after magic and checksum.
const BODY: usize = 8;

/// `N` bytes of RAM whose content survives a reset.
pub trait Retained<const N: usize> {
    /// Reads all bytes, which may be noise.
    fn read(&self) -> [u8; N];

    /// Replaces all bytes at once.
    fn write(&mut self, bytes: &[u8; N]);
}

impl<M: Retained<N>, const N: usize> Retained<N> for &mut M {
    fn read(&self) -> [u8; N] {
        (**self).read()
    }

    fn write(&mut self, bytes: &[u8; N]) {
        (**self).write(bytes);
    }
}

/// Memory of a board that keeps nothing, and of tests.
impl<const N: usize> Retained<N> for [u8; N] {
    fn read(&self) -> [u8; N] {
        *self
    }

    fn write(&mut self, bytes: &[u8; N]) {
        *self = *bytes;
    }
}

/// Reads a record; `None` if the memory holds noise, as after a power cut.
pub(crate) fn load<T: DeserializeOwned, const N: usize>(
    magic: [u8; 4],
    memory: &impl Retained<N>,
) -> Option<T> {
    let bytes = memory.read();
    let (head, body) = bytes.split_at(BODY);
    let crc = CRC32.checksum(body).to_le_bytes();
    if head[..4] != magic || head[4..] != crc {
        return None;
    }
    postcard::from_bytes(body).ok()
}

/// Writes a record. One that does not fit is lost, as after a power cut; tests store the largest.
pub(crate) fn store<const N: usize>(
    magic: [u8; 4],
    record: &impl Serialize,
    memory: &mut impl Retained<N>,
) {
    let mut bytes = [0; N];
    if postcard::to_slice(record, &mut bytes[BODY..]).is_ok() {
        bytes[..4].copy_from_slice(&magic);
        let crc = CRC32.checksum(&bytes[BODY..]);
        bytes[4..BODY].copy_from_slice(&crc.to_le_bytes());
    }
    memory.write(&bytes);
}

/// A ledger as saved over a reset, with the run it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SavedLedger {
    pub run: RunId,
    pub client: u32,
    pub snapshot: Snapshot,
    /// The round begun last, so that no income is booked twice.
    pub income_round: Option<u32>,
}

/// Everything that survives a reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Starts since the last power cut; makes every start different.
    pub boots: u32,
    /// The ledger, if the board was ever provisioned.
    pub ledger: Option<SavedLedger>,
    /// The round that is not ended yet.
    pub unfinished: Option<Unfinished>,
    /// Number of brown-outs of the ledger.
    pub brownouts: u32,
    /// The last round that the base station closed.
    pub last_round: Option<RoundMark>,
}

impl Record {
    /// Reads the record; `None` if the memory holds noise.
    pub fn load(memory: &impl Retained<RECORD_BYTES>) -> Option<Self> {
        load(MAGIC, memory)
    }

    /// Writes the record, with its checksum.
    pub fn store(&self, memory: &mut impl Retained<RECORD_BYTES>) {
        store(MAGIC, self, memory);
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
                    off: true,
                },
                income_round: Some(u32::MAX),
            }),
            unfinished: Some(Unfinished {
                listening: Micros::MAX,
                heard: true,
                cycles: Cycles::MAX,
                saves: true,
                period: Micros::MAX,
                income: most,
                ended: true,
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
