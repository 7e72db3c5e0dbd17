//! Reading with a limit: a few megabytes of gzip may unpack to more than a computer holds.

use std::io::{self, Read};

/// Passes bytes on, up to a limit; more than that is an error.
pub(super) struct Bounded<R> {
    inner: R,
    limit: u64,
    left: u64,
}

impl<R: Read> Bounded<R> {
    /// Lets `limit` bytes through.
    pub(super) const fn new(inner: R, limit: u64) -> Self {
        Self {
            inner,
            limit,
            left: limit,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => {
                self.left = left;
                Ok(count)
            }
            None => Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("unpacks to more than {} bytes", self.limit),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_read_and_one_byte_more_is_refused() {
        let read = |limit| {
            let mut all = Vec::new();
            Bounded::new(&[7; 100][..], limit)
                .read_to_end(&mut all)
                .map_err(|error| error.to_string())
        };
        assert_eq!(read(100), Ok(100));
        assert_eq!(read(99), Err("unpacks to more than 99 bytes".to_owned()));
    }
}
