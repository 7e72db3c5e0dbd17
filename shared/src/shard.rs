//! A client's samples in flash: header, pixels, labels and, where there is room, lists.
//!
//! All numbers are little endian. 64 bytes of header, then `count` samples of `inputs` bytes, one
//! byte per pixel, then `count` labels of one byte; then, if the header says so, zeros up to a
//! multiple of four bytes and the lists of [`crate::lists`], which a reader may ignore.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | magic `GLSH` |
//! | 4 | 2 | format version, 1 |
//! | 6 | 2 | inputs per sample |
//! | 8 | 2 | classes |
//! | 10 | 2 | flags; bit 0: a device key is present |
//! | 12 | 4 | samples |
//! | 16 | 4 | client |
//! | 20 | 32 | device key, or zeros |
//! | 52 | 4 | CRC-32 of pixels and labels |
//! | 56 | 4 | bytes of the lists; none if zero |
//! | 60 | 4 | CRC-32 of the header up to here |
//!
//! The key is included because flashing a shard makes a board a particular client.

use crc::{CRC_32_ISO_HDLC, Crc};

use crate::lists::Lists;

/// Size of the header; a multiple of four, so that samples stay aligned.
pub const HEADER_BYTES: usize = 64;

const MAGIC: [u8; 4] = *b"GLSH";
const VERSION: u16 = 1;
const KEYED: u16 = 1;
const CHECKED_BYTES: usize = 60;
const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Returns the size of a shard of `samples` samples of `inputs` bytes, without lists.
#[must_use]
pub const fn bytes_of(samples: usize, inputs: usize) -> usize {
    HEADER_BYTES + samples * (inputs + 1)
}

/// The header of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ShardHeader {
    pub inputs: u16,
    pub classes: u16,
    pub samples: u32,
    /// The client that the shard belongs to.
    pub client: u32,
    /// The secret shared by the client and its base station.
    pub key: Option<[u8; 32]>,
    /// CRC-32 of pixels and labels.
    pub crc: u32,
    /// Size of the lists after them; zero if there are none.
    pub list_bytes: u32,
}

/// The error of a flash region without a valid shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ShardError {
    /// There is no magic: nothing was ever written.
    #[error("no shard: write one with `gleaner data shard`")]
    Absent,
    #[error("shard of format {found}, this build reads {VERSION}")]
    Version { found: u16 },
    /// A checksum, a size or the length does not fit.
    #[error("the shard is damaged: write it again")]
    Damaged,
}

impl ShardHeader {
    /// Returns the size of the whole shard, or `None` if it overflows.
    pub const fn total_bytes(&self) -> Option<usize> {
        match (self.body_bytes(), self.list_bytes) {
            (Some(body), 0) => body.checked_add(HEADER_BYTES),
            (Some(body), lists) => match (body + HEADER_BYTES).checked_next_multiple_of(4) {
                Some(start) => start.checked_add(lists as usize),
                None => None,
            },
            (None, _) => None,
        }
    }

    /// Returns the size of pixels and labels, or `None` if it overflows.
    const fn body_bytes(&self) -> Option<usize> {
        match (self.samples as usize).checked_mul(self.inputs as usize + 1) {
            Some(body) if body <= usize::MAX - HEADER_BYTES => Some(body),
            _ => None,
        }
    }

    /// Writes the header with its checksum.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let flags = if self.key.is_some() { KEYED } else { 0 };
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.inputs.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.classes.to_le_bytes());
        bytes[10..12].copy_from_slice(&flags.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.samples.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.client.to_le_bytes());
        bytes[20..52].copy_from_slice(&self.key.unwrap_or_default());
        bytes[52..56].copy_from_slice(&self.crc.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.list_bytes.to_le_bytes());
        let crc = CRC32.checksum(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads and checks the header of a flash region.
    ///
    /// # Errors
    /// See [`ShardError`].
    pub fn from_bytes(region: &[u8]) -> Result<Self, ShardError> {
        let bytes: &[u8; HEADER_BYTES] = region.first_chunk().ok_or(ShardError::Absent)?;
        if bytes[..4] != MAGIC {
            return Err(ShardError::Absent);
        }
        if CRC32.checksum(&bytes[..CHECKED_BYTES]) != u32_at(bytes, CHECKED_BYTES) {
            return Err(ShardError::Damaged);
        }
        match u16_at(bytes, 4) {
            VERSION => {}
            found => return Err(ShardError::Version { found }),
        }
        let mut key = [0; 32];
        key.copy_from_slice(&bytes[20..52]);
        Ok(Self {
            inputs: u16_at(bytes, 6),
            classes: u16_at(bytes, 8),
            samples: u32_at(bytes, 12),
            client: u32_at(bytes, 16),
            key: (u16_at(bytes, 10) & KEYED != 0).then_some(key),
            crc: u32_at(bytes, 52),
            list_bytes: u32_at(bytes, 56),
        })
    }
}

/// A shard whose header and checksums are valid.
#[derive(Clone, Copy, Debug)]
pub struct Shard<'a> {
    header: ShardHeader,
    pixels: &'a [u8],
    labels: &'a [u8],
    lists: Option<Lists<'a>>,
}

impl<'a> Shard<'a> {
    /// Opens the shard at the start of a flash region and checks all of it.
    ///
    /// # Errors
    /// See [`ShardError`].
    pub fn open(region: &'a [u8]) -> Result<Self, ShardError> {
        let header = ShardHeader::from_bytes(region)?;
        let end = header.total_bytes().ok_or(ShardError::Damaged)?;
        let all = region.get(HEADER_BYTES..end).ok_or(ShardError::Damaged)?;
        let body = header.body_bytes().ok_or(ShardError::Damaged)?;
        let (body, rest) = all.split_at(body);
        if CRC32.checksum(body) != header.crc {
            return Err(ShardError::Damaged);
        }
        let (pixels, labels) = body.split_at(body.len() - header.samples as usize);
        let lists = match header.list_bytes as usize {
            0 => None,
            bytes => {
                let (padding, lists) = rest.split_at(rest.len() - bytes);
                let samples = header.samples as usize;
                let opened = Lists::open(lists, samples, header.inputs.into());
                let opened = opened.filter(|_| padding.iter().all(|&byte| byte == 0));
                Some(opened.ok_or(ShardError::Damaged)?)
            }
        };
        Ok(Self {
            header,
            pixels,
            labels,
            lists,
        })
    }

    /// Returns the header, which was checked.
    pub const fn header(&self) -> &ShardHeader {
        &self.header
    }

    /// Returns all pixels, sample by sample.
    pub const fn pixels(&self) -> &'a [u8] {
        self.pixels
    }

    /// Returns the labels, one byte each.
    pub const fn labels(&self) -> &'a [u8] {
        self.labels
    }

    /// Returns the lists, if there are any.
    pub const fn lists(&self) -> Option<Lists<'a>> {
        self.lists
    }
}

/// Returns the checksum of pixels and labels, for the header's `crc`.
#[must_use]
pub fn body_crc(pixels: &[u8], labels: &[u8]) -> u32 {
    let mut digest = CRC32.digest();
    digest.update(pixels);
    digest.update(labels);
    digest.finalize()
}

fn u16_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIXELS: [u8; 6] = [7, 0, 255, 1, 2, 3];

    fn sample() -> Vec<u8> {
        sample_with(&[])
    }

    fn listed() -> Vec<u8> {
        let mut lists = Vec::new();
        crate::lists::write(&PIXELS, 2, |part| lists.extend_from_slice(part));
        sample_with(&lists)
    }

    fn sample_with(lists: &[u8]) -> Vec<u8> {
        let (pixels, labels) = (PIXELS, [4, 9, 0]);
        let header = ShardHeader {
            inputs: 2,
            classes: 10,
            samples: 3,
            client: 6,
            key: Some([3; 32]),
            crc: body_crc(&pixels, &labels),
            list_bytes: lists.len() as u32,
        };
        let mut bytes = header.to_bytes().to_vec();
        bytes.extend(pixels);
        bytes.extend(labels);
        if !lists.is_empty() {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes.extend(lists);
        }
        assert_eq!(header.total_bytes(), Some(bytes.len()));
        bytes
    }

    #[test]
    fn a_written_shard_is_read_back() {
        let mut region = sample();
        region.extend([0xFF; 40]);
        let shard = Shard::open(&region).unwrap();
        assert_eq!(
            (shard.header().client, shard.header().key),
            (6, Some([3; 32]))
        );
        assert_eq!(shard.pixels(), PIXELS);
        assert_eq!(shard.labels(), [4, 9, 0]);
        assert!(shard.lists().is_none());
    }

    #[test]
    fn lists_are_read_and_change_nothing_else() {
        let (plain, listed) = (sample(), listed());
        let (plain, listed) = (Shard::open(&plain).unwrap(), Shard::open(&listed).unwrap());
        assert!(listed.lists().unwrap().fit(3, 2));
        assert_eq!(listed.pixels(), plain.pixels());
        assert_eq!(listed.labels(), plain.labels());
        assert_eq!(listed.header().crc, plain.header().crc);
    }

    #[test]
    fn lengths_beyond_the_flash_are_damage() {
        for list_bytes in [4, 4096, u32::MAX - 3, u32::MAX] {
            let bytes = sample();
            let mut header = ShardHeader::from_bytes(&bytes).unwrap();
            header.list_bytes = list_bytes;
            let bytes = [&header.to_bytes()[..], &bytes[HEADER_BYTES..]].concat();
            assert_eq!(Shard::open(&bytes).unwrap_err(), ShardError::Damaged);
        }
        let mut header = ShardHeader::from_bytes(&sample()).unwrap();
        (header.samples, header.inputs) = (u32::MAX, u16::MAX);
        header.list_bytes = u32::MAX;
        assert_eq!(
            Shard::open(&header.to_bytes()).unwrap_err(),
            ShardError::Damaged
        );
    }

    #[test]
    fn erased_flash_holds_no_shard() {
        assert_eq!(Shard::open(&[0xFF; 100]).unwrap_err(), ShardError::Absent);
        assert_eq!(Shard::open(&[]).unwrap_err(), ShardError::Absent);
    }

    #[test]
    fn any_flipped_bit_or_cut_is_found() {
        for bytes in [sample(), listed()] {
            for bit in 32..bytes.len() * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(
                    Shard::open(&flipped).unwrap_err(),
                    ShardError::Damaged,
                    "bit {bit}"
                );
            }
            for end in HEADER_BYTES..bytes.len() {
                assert_eq!(Shard::open(&bytes[..end]).unwrap_err(), ShardError::Damaged);
            }
        }
    }

    #[test]
    fn a_newer_format_is_named() {
        let mut bytes = sample();
        bytes[4] = 2;
        let crc = CRC32.checksum(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(
            Shard::open(&bytes).unwrap_err(),
            ShardError::Version { found: 2 }
        );
    }
}
