//! The digest, the size and the progress of what is read of a source.

use std::io::{self, Read};
use std::path::Path;

use gleaner_files::hexadecimal;
use sha2::{Digest, Sha256};

use crate::data::fetch::Progress;
use crate::data::own::Source;

/// Hashes and counts the bytes that are read of a source, file after file, and reports progress.
pub(super) struct SourceHasher<'a> {
    progress: &'a mut dyn Progress,
    hash: Sha256,
    files: u64,
    bytes: u64,
}

impl<'a> SourceHasher<'a> {
    pub(super) fn new(progress: &'a mut dyn Progress) -> Self {
        Self {
            progress,
            hash: Sha256::new(),
            files: 0,
            bytes: 0,
        }
    }

    /// Wraps the next file of the source.
    pub(super) fn file<R: Read>(&mut self, inner: R) -> Hashed<'_, 'a, R> {
        self.files += 1;
        Hashed {
            inner,
            hasher: self,
        }
    }

    /// Returns the provenance of a data set made from what was read.
    pub(super) fn source(self, kind: &str, path: &Path) -> Source {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Source {
            kind: kind.to_owned(),
            name: name.into_owned(),
            files: self.files,
            bytes: self.bytes,
            sha256: hexadecimal(&self.hash.finalize()),
        }
    }
}

/// A file whose bytes a [`SourceHasher`] sees.
pub(super) struct Hashed<'b, 'a, R> {
    inner: R,
    hasher: &'b mut SourceHasher<'a>,
}

impl<R: Read> Read for Hashed<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let hasher = &mut *self.hasher;
        hasher.hash.update(&buffer[..count]);
        hasher.bytes += count as u64;
        hasher.progress.advance(count as u64);
        Ok(count)
    }
}
