//! IDX, the format of MNIST: a big-endian header, then bytes. Plain or gzip-compressed.
//!
//! Header of images: magic 0x00000803, count, rows, columns; of labels: magic 0x00000801, count.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use super::catalogue::{DataFile, Format};
use super::{DataError, Samples, Shape};

const IMAGES_MAGIC: u32 = 0x0000_0803;
const LABELS_MAGIC: u32 = 0x0000_0801;
const IMAGES_HEADER: usize = 16;
const LABELS_HEADER: usize = 8;
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
/// Bytes that a compressed file may unpack to: five times the largest of MNIST.
const MAX_UNPACKED: u64 = 256 * 1024 * 1024;
const CLASSES: u8 = 10;

/// IDX files, plain or compressed.
pub const FORMAT: Format = Format {
    about: "the IDX files of MNIST (train-images-idx3-ubyte and so on, plain or .gz)",
    also: "each may also be gzip-compressed, with .gz at the end",
    first: &["train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"],
    missing,
    read: read_directory,
};

fn missing(files: &[DataFile], directory: &Path) -> Vec<String> {
    let lacks = |file: &&DataFile| !existing(directory, file.name).exists();
    let lacking = files.iter().filter(lacks);
    lacking.map(|file| file.name.to_owned()).collect()
}

/// Reads `train-*` and `t10k-*` of a folder; each file may also end in `.gz`.
///
/// # Errors
/// When a file is missing, truncated, overlong, or not what its name says.
pub(super) fn read_directory(directory: &Path) -> Result<(Samples, Samples), DataError> {
    Ok((
        read_pair(directory, "train")?,
        read_pair(directory, "t10k")?,
    ))
}

fn read_pair(directory: &Path, part: &str) -> Result<Samples, DataError> {
    let images = existing(directory, &format!("{part}-images-idx3-ubyte"));
    let labels = existing(directory, &format!("{part}-labels-idx1-ubyte"));
    let read = |path: &Path| std::fs::read(path).map_err(gleaner_files::at(path));
    parse_pair(&images, &read(&images)?, &labels, &read(&labels)?)
}

/// Returns the path of the plain file, or of the compressed one if only that exists.
fn existing(directory: &Path, name: &str) -> PathBuf {
    let compressed = directory.join(format!("{name}.gz"));
    let plain = directory.join(name);
    if !plain.exists() && compressed.exists() {
        compressed
    } else {
        plain
    }
}

/// Parses an image file and its label file; the paths serve the error messages.
///
/// # Errors
/// As [`read_directory`].
pub(super) fn parse_pair(
    images_path: &Path,
    images: &[u8],
    labels_path: &Path,
    labels: &[u8],
) -> Result<Samples, DataError> {
    let images = parse_images(images_path, inflate(images_path, images, MAX_UNPACKED)?)?;
    let labels = parse_labels(labels_path, inflate(labels_path, labels, MAX_UNPACKED)?)?;
    let count = images.len() / Shape::MNIST.bytes();
    if labels.len() != count {
        return Err(DataError::malformed(
            labels_path,
            4,
            format!("{count} labels, one per image of {}", images_path.display()),
            format!("{}", labels.len()),
        ));
    }
    Ok(Samples { images, labels })
}

/// Unpacks a compressed file to at most `limit` bytes; other files are returned as they are.
fn inflate(path: &Path, bytes: &[u8], limit: u64) -> Result<Vec<u8>, DataError> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(bytes.to_vec());
    }
    let mut plain = Vec::new();
    let unpacked = GzDecoder::new(bytes)
        .take(limit + 1)
        .read_to_end(&mut plain);
    match unpacked {
        Ok(_) if plain.len() as u64 > limit => Err(DataError::TooLarge {
            path: path.to_owned(),
            limit,
            fix: "a plain file may have any size: if you trust it, unpack it with `gunzip`",
        }),
        Ok(_) => Ok(plain),
        Err(error) => Err(DataError::malformed(
            path,
            plain.len(),
            "an intact gzip stream",
            error.to_string(),
        )),
    }
}

fn parse_images(path: &Path, mut bytes: Vec<u8>) -> Result<Vec<u8>, DataError> {
    let count = header(path, &bytes, IMAGES_MAGIC, "IDX images")?;
    let Shape { height, width, .. } = Shape::MNIST;
    for (offset, what, expected) in [(8, "rows", height), (12, "columns", width)] {
        let found = word(path, &bytes, offset, what)? as usize;
        if found != expected {
            let expected = format!("{expected} {what}");
            return Err(DataError::malformed(
                path,
                offset,
                expected,
                found.to_string(),
            ));
        }
    }
    check_length(
        path,
        bytes.len(),
        IMAGES_HEADER + count * Shape::MNIST.bytes(),
        count,
    )?;
    bytes.drain(..IMAGES_HEADER);
    Ok(bytes)
}

fn parse_labels(path: &Path, mut bytes: Vec<u8>) -> Result<Vec<u8>, DataError> {
    let count = header(path, &bytes, LABELS_MAGIC, "IDX labels")?;
    check_length(path, bytes.len(), LABELS_HEADER + count, count)?;
    bytes.drain(..LABELS_HEADER);
    match bytes.iter().position(|&label| label >= CLASSES) {
        None => Ok(bytes),
        Some(at) => Err(DataError::malformed(
            path,
            LABELS_HEADER + at,
            format!("a label below {CLASSES}"),
            bytes[at].to_string(),
        )),
    }
}

/// Checks the magic number and returns the count.
fn header(path: &Path, bytes: &[u8], magic: u32, what: &str) -> Result<usize, DataError> {
    let found = word(path, bytes, 0, "the magic number")?;
    if found != magic {
        let expected = format!("magic number {magic:#010x} ({what})");
        return Err(DataError::malformed(
            path,
            0,
            expected,
            format!("{found:#010x}"),
        ));
    }
    Ok(word(path, bytes, 4, "the count")? as usize)
}

fn word(path: &Path, bytes: &[u8], offset: usize, what: &str) -> Result<u32, DataError> {
    match bytes.get(offset..offset + 4) {
        Some(word) => Ok(word
            .iter()
            .fold(0, |value, &byte| value << 8 | u32::from(byte))),
        None => Err(DataError::malformed(
            path,
            bytes.len(),
            what,
            "the end of the file",
        )),
    }
}

fn check_length(path: &Path, found: usize, expected: usize, count: usize) -> Result<(), DataError> {
    if found == expected {
        return Ok(());
    }
    Err(DataError::malformed(
        path,
        found.min(expected),
        format!("{expected} bytes in all, as the header's {count} items take"),
        format!("{found} bytes"),
    ))
}

/// Encodes images in this format, for [`super::embedded::encode`].
#[must_use]
pub(super) fn encode_images(images: &[u8]) -> Vec<u8> {
    let Shape { height, width, .. } = Shape::MNIST;
    let count = images.len() / Shape::MNIST.bytes();
    let mut bytes = Vec::with_capacity(IMAGES_HEADER + images.len());
    for word in [IMAGES_MAGIC, count as u32, height as u32, width as u32] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(images);
    bytes
}

/// Encodes labels in this format.
#[must_use]
pub(super) fn encode_labels(labels: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(LABELS_HEADER + labels.len());
    for word in [LABELS_MAGIC, labels.len() as u32] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(labels);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> (Vec<u8>, Vec<u8>) {
        let images: Vec<u8> = (0..2 * 784u32).map(|at| at as u8).collect();
        (encode_images(&images), encode_labels(&[3, 9]))
    }

    fn parse(images: &[u8], labels: &[u8]) -> Result<Samples, DataError> {
        parse_pair(Path::new("im"), images, Path::new("la"), labels)
    }

    /// Returns the file and the byte that an error names.
    fn place(images: &[u8], labels: &[u8]) -> (String, usize) {
        match parse(images, labels) {
            Err(DataError::Malformed { path, offset, .. }) => (path.display().to_string(), offset),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_what_it_wrote() {
        let (images, labels) = two();
        let samples = parse(&images, &labels).unwrap();
        assert_eq!(samples.labels, [3, 9]);
        assert_eq!(samples.images, images[16..]);
    }

    #[test]
    fn errors_name_the_file_and_the_byte() {
        let (images, mut labels) = two();
        let at = |file: &str, byte| (file.to_owned(), byte);
        assert_eq!(place(&images[..1000], &labels), at("im", 1000));
        assert_eq!(place(&images[..3], &labels), at("im", 3));
        // Labels in the place of images, a number of labels that differs, a label out of range.
        assert_eq!(place(&labels, &labels), at("im", 0));
        assert_eq!(place(&images, &encode_labels(&[1])), at("la", 4));
        labels[9] = 10;
        assert_eq!(place(&images, &labels), at("la", 9));
        let packed = super::super::embedded::gzip(&images);
        assert!(parse(&packed, &two().1).is_ok());
        assert_eq!(place(&packed[..packed.len() - 9], &two().1).0, "im");
    }

    #[test]
    fn refuses_a_small_gzip_file_that_unpacks_to_far_too_much() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let zeros = vec![0; 1 << 20];
        for _ in 0..=MAX_UNPACKED >> 20 {
            std::io::Write::write_all(&mut packer, &zeros).unwrap();
        }
        let (images, labels) = (packer.finish().unwrap(), two().1);
        assert!(images.len() < 2 << 20);
        let error = parse(&images, &labels).unwrap_err();
        assert!(matches!(error, DataError::TooLarge { .. }), "{error}");
    }
}
