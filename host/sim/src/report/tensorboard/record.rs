//! Records as TensorFlow writes them to a file: length, its checksum, the bytes, their checksum.

use crc::{CRC_32_ISCSI, Crc};

/// The checksum of a record, CRC-32C.
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Adds a record to the bytes of a file.
pub(super) fn append(record: &[u8], file: &mut Vec<u8>) {
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
pub(super) fn split<'a>(file: &mut &'a [u8]) -> Option<&'a [u8]> {
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
        append(b"first", &mut file);
        append(b"", &mut file);
        let mut rest = &file[..];
        assert_eq!(split(&mut rest), Some(&b"first"[..]));
        assert_eq!(split(&mut rest), Some(&b""[..]));
        assert!(rest.is_empty());
        for at in 0..8 + 4 + 5 + 4 {
            let mut damaged = file.clone();
            damaged[at] ^= 0x10;
            assert_eq!(split(&mut &damaged[..]), None, "byte {at}");
        }
    }
}
