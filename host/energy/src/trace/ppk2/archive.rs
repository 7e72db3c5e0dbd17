//! The ZIP file of a recording, read in bounded memory whatever its headers state.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::path::Path;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::super::error::Kind;
use super::{METADATA, Metadata, SESSION};

/// Largest number of bytes read to find the entries; an archive of the application has three.
const DIRECTORY: u64 = 1 << 20;

/// Largest accepted size of `metadata.json`.
const SMALL: u64 = 64 << 10;

/// Largest expansion factor of deflate.
const STRETCH: u64 = 1040;

/// Place, sizes and checksum of an entry.
struct Entry {
    start: u64,
    packed: u64,
    bytes: u64,
    crc: u32,
    deflated: bool,
}

/// An entry, unpacked as it is read and checked at its end.
pub(super) struct Session {
    source: Packed,
    left: u64,
    crc: Crc,
    expected: u32,
}

enum Packed {
    Stored(Take<File>),
    Deflated(Box<DeflateDecoder<BufReader<Take<File>>>>),
}

/// Opens an archive; returns its metadata, its samples and the number of their bytes.
pub(super) fn open(path: &Path) -> Result<(Metadata, Session, u64), Kind> {
    let length = File::open(path)?.metadata()?.len();
    let budget = Budget {
        file: File::open(path)?,
        left: DIRECTORY,
    };
    let mut archive = ZipArchive::new(BufReader::new(budget)).map_err(|e| damaged(&e))?;
    let metadata = find(&mut archive, METADATA, length)?;
    let session = find(&mut archive, SESSION, length)?;
    let mut text = Vec::new();
    if metadata.bytes > SMALL {
        return Err(Kind::Archive(format!(
            "{METADATA} claims {} bytes",
            metadata.bytes
        )));
    }
    let mut reader = Session::new(path, &metadata)?;
    let mut part = [0; 4096];
    loop {
        let read = reader.fill(&mut part)?;
        if read == 0 {
            break;
        }
        text.extend_from_slice(&part[..read]);
    }
    let metadata: Metadata = serde_json::from_slice(&text).map_err(|error| {
        Kind::Metadata(format!("{METADATA}: {error}; save the recording again"))
    })?;
    let bytes = session.bytes;
    Ok((metadata, Session::new(path, &session)?, bytes))
}

/// Finds an entry and checks that its sizes are possible in a file of `length` bytes.
fn find(
    archive: &mut ZipArchive<BufReader<Budget>>,
    name: &str,
    length: u64,
) -> Result<Entry, Kind> {
    let file = match archive.by_name(name) {
        Ok(file) => file,
        Err(zip::result::ZipError::FileNotFound) => {
            return Err(Kind::Archive(format!("it has no {name}")));
        }
        Err(error) => return Err(damaged(&error)),
    };
    let deflated = match file.compression() {
        CompressionMethod::Stored => false,
        CompressionMethod::Deflated => true,
        other => return Err(Kind::Archive(format!("{name} is packed as {other:?}"))),
    };
    if file.encrypted() {
        return Err(Kind::Archive(format!("{name} is encrypted")));
    }
    let start = file
        .data_start()
        .ok_or_else(|| Kind::Archive(format!("{name} has no place")))?;
    let (packed, bytes) = (file.compressed_size(), file.size());
    let most = packed.saturating_mul(if deflated { STRETCH } else { 1 });
    if start.saturating_add(packed) > length {
        return Err(Kind::Archive(format!(
            "{name} should end at byte {} and the file ends at byte {length}",
            start.saturating_add(packed)
        )));
    }
    if bytes > most {
        return Err(Kind::Archive(format!(
            "{name} claims {bytes} bytes, packed into {packed}"
        )));
    }
    Ok(Entry {
        start,
        packed,
        bytes,
        crc: file.crc32(),
        deflated,
    })
}

impl Session {
    fn new(path: &Path, entry: &Entry) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(entry.start))?;
        let packed = file.take(entry.packed);
        Ok(Self {
            source: if entry.deflated {
                let packed = BufReader::with_capacity(1 << 17, packed);
                Packed::Deflated(Box::new(DeflateDecoder::new(packed)))
            } else {
                Packed::Stored(packed)
            },
            left: entry.bytes,
            crc: Crc::new(),
            expected: entry.crc,
        })
    }

    /// Fills the buffer and returns the number of bytes, 0 at the end. Length and checksum are
    /// checked at the end.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Kind> {
        let mut filled = 0;
        while filled < buffer.len() {
            let read = match &mut self.source {
                Packed::Stored(source) => source.read(&mut buffer[filled..]),
                Packed::Deflated(source) => source.read(&mut buffer[filled..]),
            };
            match read {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.is_packed() => return Err(Kind::Archive(error.to_string())),
                Err(error) => return Err(error.into()),
            }
        }
        let Some(left) = self.left.checked_sub(filled as u64) else {
            return Err(Kind::Archive(
                "more bytes than the archive claims".to_owned(),
            ));
        };
        self.left = left;
        self.crc.update(&buffer[..filled]);
        if filled < buffer.len() {
            self.check()?;
        }
        Ok(filled)
    }

    const fn is_packed(&self) -> bool {
        matches!(self.source, Packed::Deflated(_))
    }

    fn check(&self) -> Result<(), Kind> {
        if self.left > 0 {
            return Err(Kind::Archive(format!("{} bytes are missing", self.left)));
        }
        let found = self.crc.sum();
        if found == self.expected {
            return Ok(());
        }
        Err(Kind::Archive(format!(
            "checksum {found:08x} where {:08x} is claimed",
            self.expected
        )))
    }
}

fn damaged(error: &zip::result::ZipError) -> Kind {
    Kind::Archive(error.to_string())
}

/// A file with a limit on the bytes read: the length of a ZIP directory is stated by the archive,
/// and each of its entries takes memory.
struct Budget {
    file: File,
    left: u64,
}

impl Read for Budget {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::other("it has no directory of a recording's size at its end")
        })?;
        Ok(read)
    }
}

impl Seek for Budget {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
