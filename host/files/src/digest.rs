//! SHA-256, of files that grow too, and hexadecimal digits.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Returns the SHA-256 of `bytes`.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns the SHA-256 of everything a reader holds, without keeping it in memory.
///
/// # Errors
/// Any error of the reader.
pub fn sha256_of(mut reader: impl Read) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    io::copy(&mut reader, &mut HashWriter(&mut hasher))?;
    Ok(hasher.finalize().into())
}

/// `sha2` without its `std` feature does not implement `io::Write`.
struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The beginning of a file: its length and its SHA-256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefix {
    /// Number of bytes; 0 for a file that does not count.
    pub bytes: u64,
    /// SHA-256 of these bytes.
    pub sha256: [u8; 32],
}

/// The hash of a file that grows: every byte is hashed once, and the hash so far can be read at any time.
#[derive(Clone, Debug, Default)]
pub struct GrowingHash {
    hasher: Sha256,
    bytes: u64,
}

impl GrowingHash {
    /// Hashes everything a reader holds, to continue behind it.
    ///
    /// # Errors
    /// Any error of the reader.
    pub fn of(mut reader: impl Read) -> io::Result<Self> {
        let mut hash = Self::default();
        hash.bytes = io::copy(&mut reader, &mut HashWriter(&mut hash.hasher))?;
        Ok(hash)
    }

    /// Adds the next bytes of the file.
    pub fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Returns the number of bytes so far.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns length and hash of all bytes so far.
    #[must_use]
    pub fn prefix(&self) -> Prefix {
        Prefix {
            bytes: self.bytes,
            sha256: self.hasher.clone().finalize().into(),
        }
    }
}

/// Returns bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_digest_of_abc() {
        assert_eq!(
            hexadecimal(&sha256(b"abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(sha256_of(&b"abc"[..]).unwrap(), sha256(b"abc"));
    }

    #[test]
    fn a_growing_hash_is_that_of_the_bytes_so_far() {
        let mut hash = GrowingHash::of(&b"ab"[..]).unwrap();
        assert_eq!(hash.prefix().sha256, sha256(b"ab"));
        hash.add(b"c");
        let (bytes, sha256) = (3, sha256(b"abc"));
        assert_eq!(hash.prefix(), Prefix { bytes, sha256 });
    }
}
