//! Encoding of TensorBoard's file: protocol-buffer messages (`Event` with `Summary` and its values) in
//! TensorFlow's records (length, its checksum, the bytes, their checksum).
//!
//! | message | field | number | here |
//! |---|---|---|---|
//! | `Event` | `wall_time` | 1 | seconds of modelled time since the run began |
//! | | `step` | 2 | the round |
//! | | `file_version` | 3 | of the first event alone |
//! | | `summary` | 5 | |
//! | `Summary` | `value` | 1 | one for each figure |
//! | `Value` | `tag` | 1 | the name of the figure |
//! | | `simple_value` | 2 | the figure |

use crc::{CRC_32_ISCSI, Crc};

/// Encoding of a field's value, the low bits of its key.
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
    Fixed32 = 5,
}

/// Returns the event a file begins with.
pub(super) fn version() -> Vec<u8> {
    let mut event = Vec::new();
    bytes(3, b"brain.Event:2", &mut event);
    event
}

/// Returns the event of a round.
pub(super) fn event(modelled_s: f64, round: u32, figures: &[(&str, f64)]) -> Vec<u8> {
    let mut summary = Vec::new();
    for (tag, figure) in figures {
        let mut value = Vec::new();
        bytes(1, tag.as_bytes(), &mut value);
        key(2, Wire::Fixed32, &mut value);
        value.extend_from_slice(&(*figure as f32).to_le_bytes());
        bytes(1, &value, &mut summary);
    }
    let mut event = Vec::new();
    key(1, Wire::Fixed64, &mut event);
    event.extend_from_slice(&modelled_s.to_le_bytes());
    key(2, Wire::Varint, &mut event);
    varint(round.into(), &mut event);
    bytes(5, &summary, &mut event);
    event
}

fn bytes(field: u64, content: &[u8], message: &mut Vec<u8>) {
    key(field, Wire::Bytes, message);
    varint(content.len() as u64, message);
    message.extend_from_slice(content);
}

fn key(field: u64, wire: Wire, message: &mut Vec<u8>) {
    varint((field << 3) | wire as u64, message);
}

fn varint(mut number: u64, message: &mut Vec<u8>) {
    while number >= 0x80 {
        message.push(number as u8 | 0x80);
        number >>= 7;
    }
    message.push(number as u8);
}

/// The checksum of a record, CRC-32C.
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Adds a record to the bytes of a file.
pub(super) fn append_record(record: &[u8], file: &mut Vec<u8>) {
    let length = (record.len() as u64).to_le_bytes();
    file.extend_from_slice(&length);
    file.extend_from_slice(&masked(&length).to_le_bytes());
    file.extend_from_slice(record);
    file.extend_from_slice(&masked(record).to_le_bytes());
}

/// The checksum turned and shifted, so that records within records keep theirs apart.
fn masked(bytes: &[u8]) -> u32 {
    let checksum = CHECKSUM.checksum(bytes);
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Takes the first record off the bytes of a file; `None` where it is damaged or not whole.
#[cfg(test)]
pub(super) fn split_record<'a>(file: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = file.split_first_chunk::<8>()?;
    let (check, rest) = rest.split_first_chunk::<4>()?;
    let whole = u32::from_le_bytes(*check) == masked(length);
    let size = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (record, rest) = rest.split_at_checked(size).filter(|_| whole)?;
    let (check, rest) = rest.split_first_chunk::<4>()?;
    *file = rest;
    (u32::from_le_bytes(*check) == masked(record)).then_some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_no_damaged_one_does() {
        let mut file = Vec::new();
        append_record(b"first", &mut file);
        append_record(b"", &mut file);
        let mut rest = &file[..];
        assert_eq!(split_record(&mut rest), Some(&b"first"[..]));
        assert_eq!(split_record(&mut rest), Some(&b""[..]));
        assert!(rest.is_empty());
        for at in 0..8 + 4 + 5 + 4 {
            let mut damaged = file.clone();
            damaged[at] ^= 0x10;
            assert_eq!(split_record(&mut &damaged[..]), None, "byte {at}");
        }
    }
}
