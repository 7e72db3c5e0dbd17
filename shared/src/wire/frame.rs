//! One frame: header, payload, tag and CRC-32, stuffed and delimited.
//!
//! ```text
//! COBS( kind | session u32 | sequence u32 | payload 0..=1024 | tag 16 | CRC-32 ) 00
//! ```
//! All integers are little endian. In a session the payload is encrypted, otherwise it is plain.
//! The tag covers header and payload, the CRC covers everything before it; the CRC is checked
//! first, so that line noise costs a device no decryption.

use crc::{CRC_32_ISO_HDLC, Crc, Table};

use super::auth::{Key, TAG_BYTES, Tag};
use super::cobs;
use super::seal::SessionKey;

/// The byte between frames.
pub const DELIMITER: u8 = 0;
/// Bytes before the payload.
pub const HEADER_BYTES: usize = 9;
/// Largest payload of a frame, in bytes.
pub const MAX_PAYLOAD: usize = 1024;
/// Bytes of the checksum.
pub const CRC_BYTES: usize = 4;
/// Largest frame before stuffing.
pub const MAX_FRAME: usize = HEADER_BYTES + MAX_PAYLOAD + TAG_BYTES + CRC_BYTES;
/// Smallest frame before stuffing: an empty payload.
pub const MIN_FRAME: usize = MAX_FRAME - MAX_PAYLOAD;
/// Most bytes of a frame on the line, delimiter included.
pub const MAX_WIRE: usize = STUFFING + MAX_FRAME + 1;

/// Space before a frame that lets it be stuffed in place.
const STUFFING: usize = cobs::overhead(MAX_FRAME);
/// The checksum of Ethernet and zlib, from a 1 KB table.
const CRC: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

/// The direction of a frame: bit 7 of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs)]
pub enum Direction {
    HostToDevice,
    DeviceToHost,
}

impl Direction {
    const BIT: u8 = 0x80;

    /// Returns the opposite direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::HostToDevice => Self::DeviceToHost,
            Self::DeviceToHost => Self::HostToDevice,
        }
    }
}

/// The kind of a payload and of its key: bits 0 to 6 of the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Kind {
    /// A message outside any session, tagged with the public key.
    Open = 0,
    /// A device's greeting, outside any session, tagged with the device key.
    Greeting = 1,
    /// A message of a session that may be lost; sealed, as the kinds after it.
    Message = 2,
    /// A message that arrives exactly once: its number (u16), then the message.
    Reliable = 3,
    /// A chunk of a transfer: transfer (u16), index (u16), then plain bytes.
    Chunk = 4,
}

impl Kind {
    const fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            0 => Some(Self::Open),
            1 => Some(Self::Greeting),
            2 => Some(Self::Message),
            3 => Some(Self::Reliable),
            4 => Some(Self::Chunk),
            _ => None,
        }
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs)]
pub struct Header {
    pub direction: Direction,
    pub kind: Kind,
    /// Number of the session, zero outside any.
    pub session: u32,
    /// Increases with every frame of a direction within a session; zero outside any.
    pub sequence: u32,
}

impl Header {
    /// Encodes the header.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let direction = match self.direction {
            Direction::HostToDevice => 0,
            Direction::DeviceToHost => Direction::BIT,
        };
        let [s0, s1, s2, s3] = self.session.to_le_bytes();
        let [n0, n1, n2, n3] = self.sequence.to_le_bytes();
        [direction | self.kind as u8, s0, s1, s2, s3, n0, n1, n2, n3]
    }

    /// Decodes a header, or returns `None` for an unknown kind.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let [first, s0, s1, s2, s3, n0, n1, n2, n3] = *bytes;
        Some(Self {
            direction: match first & Direction::BIT {
                0 => Direction::HostToDevice,
                _ => Direction::DeviceToHost,
            },
            kind: Kind::from_bits(first & !Direction::BIT)?,
            session: u32::from_le_bytes([s0, s1, s2, s3]),
            sequence: u32::from_le_bytes([n0, n1, n2, n3]),
        })
    }
}

/// The reason why a frame was discarded before its payload was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Damage {
    #[error("longer than any frame")]
    Oversized,
    #[error("cut inside a run")]
    Truncated,
    #[error("shorter than an empty frame")]
    Short,
    #[error("checksum does not fit")]
    Checksum,
    #[error("unknown kind")]
    Kind,
}

/// A frame with a valid checksum; its tag is not verified yet.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Frame<'a> {
    pub header: Header,
    bytes: &'a mut [u8],
    tag: Tag,
}

impl<'a> Frame<'a> {
    /// Checks length, checksum and kind of an unstuffed frame.
    ///
    /// # Errors
    /// Returns the kind of damage.
    pub fn parse(bytes: &'a mut [u8]) -> Result<Self, Damage> {
        let (body, checksum) = bytes
            .split_last_chunk_mut::<CRC_BYTES>()
            .ok_or(Damage::Short)?;
        let fits = CRC.checksum(body) == u32::from_le_bytes(*checksum);
        let (tagged, tag) = body
            .split_last_chunk_mut::<TAG_BYTES>()
            .ok_or(Damage::Short)?;
        let header = tagged.first_chunk().ok_or(Damage::Short)?;
        if !fits {
            return Err(Damage::Checksum);
        }
        if tagged.len() > HEADER_BYTES + MAX_PAYLOAD {
            return Err(Damage::Oversized);
        }
        Ok(Self {
            header: Header::from_bytes(header).ok_or(Damage::Kind)?,
            tag: *tag,
            bytes: tagged,
        })
    }

    /// Returns the payload as received: unverified, and unreadable if it is sealed.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..]
    }

    /// Returns whether the tag of a frame outside any session was made with `key`.
    pub fn is_signed_by(&self, key: &Key) -> bool {
        key.accepts(self.bytes, &self.tag)
    }

    /// Returns the decrypted payload of a frame that was sealed with `key`.
    #[must_use]
    pub fn open(self, key: &SessionKey) -> Option<&'a [u8]> {
        let (header, payload) = self.bytes.split_first_chunk_mut::<HEADER_BYTES>()?;
        key.open(header, payload, &self.tag).then_some(&*payload)
    }
}

/// A buffer in which a frame is written, sealed and stuffed.
#[derive(Clone, Debug)]
pub struct FrameBuffer {
    bytes: [u8; MAX_WIRE],
}

impl FrameBuffer {
    /// Returns an empty buffer.
    pub const fn new() -> Self {
        Self {
            bytes: [0; MAX_WIRE],
        }
    }

    /// Returns the space for a payload: write here, then [`seal`](Self::seal).
    pub fn payload(&mut self) -> &mut [u8; MAX_PAYLOAD] {
        let start = STUFFING + HEADER_BYTES;
        match self.bytes[start..start + MAX_PAYLOAD].first_chunk_mut() {
            Some(payload) => payload,
            None => unreachable!("the slice has this length by construction"),
        }
    }

    /// Signs the first `len` payload bytes for a frame outside any session; see
    /// [`seal`](Self::seal).
    pub fn sign(&mut self, header: &Header, len: usize, key: &Key) -> &[u8] {
        self.finish(header, len, |tagged| key.tag(tagged))
    }

    /// Encrypts the first `len` payload bytes, adds header, tag and checksum and returns the bytes
    /// for the line, delimiter included. A `len` beyond [`MAX_PAYLOAD`] is cut.
    pub fn seal(&mut self, header: &Header, len: usize, key: &SessionKey) -> &[u8] {
        self.finish(header, len, |tagged| {
            let (header, payload) = tagged.split_at_mut(HEADER_BYTES);
            match header.first_chunk() {
                Some(header) => key.seal(header, payload),
                None => unreachable!("the slice has this length by construction"),
            }
        })
    }

    fn finish(&mut self, header: &Header, len: usize, tag: impl FnOnce(&mut [u8]) -> Tag) -> &[u8] {
        let body_at = STUFFING + HEADER_BYTES;
        let tag_at = body_at + len.min(MAX_PAYLOAD);
        let crc_at = tag_at + TAG_BYTES;
        let end = crc_at + CRC_BYTES;
        self.bytes[STUFFING..body_at].copy_from_slice(&header.to_bytes());
        let tag = tag(&mut self.bytes[STUFFING..tag_at]);
        self.bytes[tag_at..crc_at].copy_from_slice(&tag);
        let checksum = CRC.checksum(&self.bytes[STUFFING..crc_at]);
        self.bytes[crc_at..end].copy_from_slice(&checksum.to_le_bytes());
        let stuffed = cobs::stuff_in_place(&mut self.bytes, STUFFING, end);
        self.bytes[stuffed] = DELIMITER;
        &self.bytes[..=stuffed]
    }
}
