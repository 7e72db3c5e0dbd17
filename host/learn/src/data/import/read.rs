//! Reading a source: hashed, counted and shown as it goes.

use std::io::{self, Read};
use std::path::Path;

use gleaner_files::hexadecimal;
use sha2::{Digest, Sha256};

use crate::data::fetch::Progress;
use crate::data::own::Source;

/// Counts and hashes everything that is read of a source, file after file.
pub(super) struct Account<'a> {
    progress: &'a mut dyn Progress,
    hash: Sha256,
    files: u64,
    bytes: u64,
}

impl<'a> Account<'a> {
    pub(super) fn new(progress: &'a mut dyn Progress) -> Self {
        Self {
            progress,
            hash: Sha256::new(),
            files: 0,
            bytes: 0,
        }
    }

    /// Passes on what is read of the next file.
    pub(super) fn file<R: Read>(&mut self, inner: R) -> Watched<'_, 'a, R> {
        self.files += 1;
        Watched {
            inner,
            account: self,
        }
    }

    /// Says where the source is from.
    pub(super) fn source(self, kind: &str, path: &Path) -> Source {
        let name = match path.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => String::new(),
        };
        Source {
            kind: kind.to_owned(),
            name,
            files: self.files,
            bytes: self.bytes,
            sha256: hexadecimal(&self.hash.finalize()),
        }
    }
}

/// A file whose bytes are entered into an [`Account`].
pub(super) struct Watched<'b, 'a, R> {
    inner: R,
    account: &'b mut Account<'a>,
}

impl<R: Read> Read for Watched<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let account = &mut *self.account;
        account.hash.update(&buffer[..count]);
        account.bytes += count as u64;
        account.progress.advance(count as u64);
        Ok(count)
    }
}
