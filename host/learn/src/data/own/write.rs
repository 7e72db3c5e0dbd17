//! Writer of data sets: streams records into a temporary file, which is renamed when complete.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use gleaner_files::FileError;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::{FILE, Header, MAGIC, TEST, TRAIN};

/// One sample to be written.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The inputs, one byte each.
    pub features: &'a [u8],
    pub label: u8,
    /// Whether it is a test sample.
    pub test: bool,
    /// The client that gathered it; not written where the header has no clients.
    pub owner: u16,
}

/// A data set that is being written.
pub struct Writer {
    path: PathBuf,
    out: BufWriter<NamedTempFile>,
    hash: Sha256,
    inputs: usize,
    owned: bool,
    due: u64,
}

impl Writer {
    /// Creates the file of a set in `directory`, which is created if missing. The file appears under
    /// its name with [`Self::finish`].
    ///
    /// # Errors
    /// When the file cannot be created or written.
    ///
    /// # Panics
    /// When the header is invalid.
    pub fn create(directory: &Path, header: &Header) -> Result<Self, FileError> {
        if let Err((expected, found)) = header.check() {
            panic!("a header with {found} instead of {expected}");
        }
        let path = directory.join(FILE);
        fs::create_dir_all(directory).map_err(gleaner_files::at(directory))?;
        // A unique name: two imports at once do not write into each other's file.
        let mut builder = tempfile::Builder::new();
        builder.prefix(".dataset-");
        // The permissions of any new file; temporary files are their owner's alone.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let temporary = builder
            .tempfile_in(directory)
            .map_err(gleaner_files::at(&path))?;
        let text = serde_json::to_vec(header)
            .map_err(io::Error::from)
            .map_err(gleaner_files::at(&path))?;
        let mut writer = Self {
            path,
            out: BufWriter::with_capacity(1 << 20, temporary),
            hash: Sha256::new(),
            inputs: header.inputs(),
            owned: !header.clients.is_empty(),
            due: header.train + header.test,
        };
        writer.put(MAGIC)?;
        writer.put(&(text.len() as u32).to_le_bytes())?;
        writer.put(&text)?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.hash.update(bytes);
        self.out
            .write_all(bytes)
            .map_err(gleaner_files::at(&self.path))
    }

    /// Writes the next sample.
    ///
    /// # Errors
    /// When it cannot be written.
    ///
    /// # Panics
    /// When the number of features is not that of the header.
    pub fn record(&mut self, record: &Record<'_>) -> Result<(), FileError> {
        assert_eq!(record.features.len(), self.inputs, "features of a record");
        self.due = self.due.saturating_sub(1);
        self.put(record.features)?;
        self.put(&[record.label, if record.test { TEST } else { TRAIN }])?;
        match self.owned {
            true => self.put(&record.owner.to_le_bytes()),
            false => Ok(()),
        }
    }

    /// Adds the digest, gives the file its name, replacing an earlier file, and returns the digest.
    ///
    /// # Errors
    /// When the file cannot be written or renamed; the temporary file is removed then.
    ///
    /// # Panics
    /// When fewer records were written than the header states.
    pub fn finish(mut self) -> Result<[u8; 32], FileError> {
        assert_eq!(self.due, 0, "records that are missing");
        let digest: [u8; 32] = self.hash.finalize().into();
        let path = &self.path;
        self.out
            .write_all(&digest)
            .map_err(gleaner_files::at(path))?;
        let temporary = self
            .out
            .into_inner()
            .map_err(|error| gleaner_files::at(path)(error.into_error()))?;
        temporary
            .as_file()
            .sync_all()
            .map_err(gleaner_files::at(path))?;
        temporary
            .persist(path)
            .map_err(|error| gleaner_files::at(path)(error.error))?;
        gleaner_files::sync_parent(path)?;
        Ok(digest)
    }
}
