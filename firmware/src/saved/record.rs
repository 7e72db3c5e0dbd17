//! A page with a checksum: the form of journal records and model headers.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | magic |
//! | 4 | 4 | CRC-32 from offset 8 to the mark |
//! | 8 | 4 | number, one more than that of the page written before |
//! | 12 | 236 | contents |
//! | 248 | 8 | mark: zeros, programmed last |
//!
//! A word that lost power while it was programmed may read differently at every start. If the mark
//! is set, all other words are complete; without it a page may be valid at one start and invalid at
//! the next.

use crc::{CRC_32_ISO_HDLC, Crc};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::region::{MARK, PAGE};

pub(super) const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
const NUMBER: usize = 8;
const CONTENTS: usize = 12;

/// Returns a page up to its mark; `None` if the contents do not fit.
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
