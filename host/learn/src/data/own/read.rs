//! Reader of data sets: compares lengths before it allocates, and returns samples only if the digest is right.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use gleaner_files::hexadecimal;
use sha2::{Digest, Sha256};

use super::{DIGEST, FILE, Header, MAGIC, MOST_HEADER, PREFIX, TEST, TRAIN};
use crate::data::{DataError, Dataset, Owners, Samples};

/// Reads the header of the set in `directory`.
///
/// # Errors
/// When there is no such file, or its header is invalid.
pub fn read_header(directory: &Path) -> Result<Header, DataError> {
    let path = directory.join(FILE);
    let (file, length) = open(&path)?;
    Reader::new(&path, BufReader::new(file), length).header()
}

/// Reads the set in `directory` and gives it a `name`.
///
/// # Errors
/// When there is none, or any bit of it differs from what was written.
pub fn read(directory: &Path, name: &str) -> Result<Dataset, DataError> {
    let path = directory.join(FILE);
    let (file, length) = open(&path)?;
    Reader::new(&path, BufReader::with_capacity(1 << 20, file), length).dataset(name)
}

/// Reads a set from `bytes`; errors name it `path`.
///
/// # Errors
/// As [`read`].
pub(in crate::data) fn parse(path: &Path, bytes: &[u8], name: &str) -> Result<Dataset, DataError> {
    Reader::new(path, bytes, bytes.len() as u64).dataset(name)
}

fn open(path: &Path) -> Result<(File, u64), DataError> {
    let file = File::open(path).map_err(gleaner_files::at(path))?;
    let length = file.metadata().map_err(gleaner_files::at(path))?.len();
    Ok((file, length))
}

/// A file that is hashed while it is read.
struct Reader<'a, R> {
    path: &'a Path,
    inner: R,
    length: u64,
    at: u64,
    hash: Sha256,
}

impl<'a, R: Read> Reader<'a, R> {
    fn new(path: &'a Path, inner: R, length: u64) -> Self {
        Self {
            path,
            inner,
            length,
            at: 0,
            hash: Sha256::new(),
        }
    }

    fn wrong(&self, at: u64, expected: impl Into<String>, found: impl Into<String>) -> DataError {
        DataError::malformed(self.path, at as usize, expected, found)
    }

    fn take(&mut self, bytes: &mut [u8], what: &str) -> Result<(), DataError> {
        match self.inner.read_exact(bytes) {
            Ok(()) => {
                self.at += bytes.len() as u64;
                self.hash.update(&bytes);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.wrong(self.at, what, "the end of the file"))
            }
            Err(error) => Err(gleaner_files::at(self.path)(error).into()),
        }
    }

    /// Reads the header and compares the file's length with what it states.
    fn header(&mut self) -> Result<Header, DataError> {
        let mut prefix = [0; PREFIX];
        self.take(&mut prefix, "the beginning of a data set of Gleaner")?;
        let (magic, length) = prefix.split_at(MAGIC.len());
        if magic != MAGIC {
            let expected = format!("the bytes {}", hexadecimal(MAGIC));
            return Err(self.wrong(0, expected, hexadecimal(magic)));
        }
        let length = length
            .iter()
            .rev()
            .fold(0, |value: usize, &byte| value << 8 | usize::from(byte));
        let room = self.length.saturating_sub((PREFIX + DIGEST) as u64);
        if length > MOST_HEADER || length as u64 > room {
            let expected = format!("a header of at most {} bytes", room.min(MOST_HEADER as u64));
            return Err(self.wrong(MAGIC.len() as u64, expected, length.to_string()));
        }
        let mut text = vec![0; length];
        self.take(&mut text, "the header")?;
        let header: Header = serde_json::from_slice(&text).map_err(|error| {
            let expected = "a header as in docs/reference/formats.md";
            self.wrong(PREFIX as u64, expected, error.to_string())
        })?;
        header
            .check()
            .map_err(|(expected, found)| self.wrong(PREFIX as u64, expected, found))?;
        let around = (PREFIX + length + DIGEST) as u64;
        let whole = header
            .body_bytes()
            .and_then(|body| body.checked_add(around));
        if whole != Some(self.length) {
            let whole = whole.map_or("more than a file has".to_owned(), |bytes| bytes.to_string());
            let expected = format!("{whole} bytes in all, as the header's samples take");
            let found = format!("{} bytes", self.length);
            return Err(self.wrong(self.length, expected, found));
        }
        Ok(header)
    }

    fn dataset(mut self, name: &str) -> Result<Dataset, DataError> {
        let header = self.header()?;
        let inputs = header.inputs();
        let mut parts = [
            Part::with_room(header.train, inputs),
            Part::with_room(header.test, inputs),
        ];
        let mut record = vec![0; header.record_bytes()];
        for _ in 0..header.train + header.test {
            let start = self.at;
            self.take(&mut record, "a record")?;
            let (features, rest) = record.split_at(inputs);
            let (label, part) = (rest[0], rest[1]);
            if usize::from(label) >= header.classes.len() {
                let expected = format!("a label below {}", header.classes.len());
                return Err(self.wrong(start + inputs as u64, expected, label.to_string()));
            }
            let part = match part {
                TRAIN | TEST => &mut parts[usize::from(part)],
                part => {
                    let expected = format!("{TRAIN} (train) or {TEST} (test)");
                    return Err(self.wrong(start + inputs as u64 + 1, expected, part.to_string()));
                }
            };
            part.samples.images.extend(features);
            part.samples.labels.push(label);
            if let [low, high] = rest[2..] {
                let owner = u16::from_le_bytes([low, high]);
                if usize::from(owner) >= header.clients.len() {
                    let expected = format!("a client below {}", header.clients.len());
                    return Err(self.wrong(start + inputs as u64 + 2, expected, owner.to_string()));
                }
                part.owners.push(owner);
            }
        }
        let [train, test] = parts;
        for (what, part, stated) in [
            ("training", &train, header.train),
            ("test", &test, header.test),
        ] {
            if part.samples.len() as u64 != stated {
                let expected = format!("{stated} {what} samples, as the header states");
                return Err(self.wrong(self.at, expected, part.samples.len().to_string()));
            }
        }
        let found = std::mem::take(&mut self.hash).finalize();
        let mut stated = [0; DIGEST];
        self.take(&mut stated, "the digest")?;
        if stated[..] != found[..] {
            let expected = format!("SHA-256 {}", hexadecimal(&stated));
            let found = hexadecimal(&found);
            return Err(self.wrong(self.length - DIGEST as u64, expected, found));
        }
        let shape = header.shape();
        Ok(Dataset {
            name: name.to_owned(),
            shape,
            classes: header.classes.len(),
            class_names: header.classes,
            owners: (!header.clients.is_empty()).then_some(Owners {
                names: header.clients,
                train: train.owners,
                test: test.owners,
            }),
            train: train.samples,
            test: test.samples,
        })
    }
}

/// The training or the test samples while they are read.
struct Part {
    samples: Samples,
    owners: Vec<u16>,
}

impl Part {
    /// Allocates for `count` samples; the length of the file is known to match.
    fn with_room(count: u64, inputs: usize) -> Self {
        let count = count as usize;
        Self {
            samples: Samples {
                images: Vec::with_capacity(count.saturating_mul(inputs)),
                labels: Vec::with_capacity(count),
            },
            owners: Vec::new(),
        }
    }
}
