//! SHA-256 and hexadecimal digits.

use std::io::{self, Read};

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
}
