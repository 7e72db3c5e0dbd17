//! A page with a checksum: what the journal's records and the models' headers are written as.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | magic |
//! | 4 | 4 | CRC-32 of all from offset 8 to the mark |
//! | 8 | 4 | number, one more than that of the page written before |
//! | 12 | 236 | contents |
//! | 248 | 8 | mark: zeros, programmed when all else was |
//!
//! A word that lost power half way may read differently at every start. Under a set mark all other
//! words are whole; without it a page may be good today and bad tomorrow.

use crc::{CRC_32_ISO_HDLC, Crc};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::region::{MARK, PAGE};

pub(super) const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
const NUMBER: usize = 8;
const CONTENTS: usize = 12;

/// Writes a page up to its mark; `None` if the contents do not fit.
pub(super) fn encode(magic: [u8; 4], number: u32, contents: &impl Serialize) -> Option<[u8; MARK]> {
    let mut bytes = [0; MARK];
    postcard::to_slice(contents, &mut bytes[CONTENTS..]).ok()?;
    bytes[NUMBER..CONTENTS].copy_from_slice(&number.to_le_bytes());
    let crc = CRC32.checksum(&bytes[NUMBER..]);
    bytes[..4].copy_from_slice(&magic);
    bytes[4..NUMBER].copy_from_slice(&crc.to_le_bytes());
    Some(bytes)
}

/// Reads a page's number and contents.
pub(super) fn decode<T: DeserializeOwned>(magic: [u8; 4], page: &[u8; PAGE]) -> Option<(u32, T)> {
    if page[..4] != magic || page[4..NUMBER] != CRC32.checksum(&page[NUMBER..MARK]).to_le_bytes() {
        return None;
    }
    let number = u32::from_le_bytes(*page[NUMBER..].first_chunk()?);
    Some((number, postcard::from_bytes(&page[CONTENTS..MARK]).ok()?))
}
