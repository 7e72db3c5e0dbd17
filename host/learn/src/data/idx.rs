//! IDX, the format of MNIST: a big-endian header, then bytes. Plain or gzip-compressed.
//!
//! Header of images: magic 0x00000803, count, rows, columns; of labels: magic 0x00000801, count.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use super::bounded::Bounded;
use super::catalogue::{DataFile, Format};
use super::{DataError, Samples, Shape};

const IMAGES_MAGIC: u32 = 0x0000_0803;
const LABELS_MAGIC: u32 = 0x0000_0801;
const IMAGES_HEADER: usize = 16;
const LABELS_HEADER: usize = 8;
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
/// What a compressed file may unpack to: five times the largest of MNIST.
const MAX_UNPACKED: u64 = 256 * 1024 * 1024;
/// MNIST's digits.
const CLASSES: u8 = 10;

/// Plain or compressed files.
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

/// Prefers the plain file; names it too when neither exists.
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

/// Unpacks a file that is compressed, as far as the limit.
fn inflate(path: &Path, bytes: &[u8], limit: u64) -> Result<Vec<u8>, DataError> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(bytes.to_vec());
    }
    let mut plain = Vec::new();
    match Bounded::new(GzDecoder::new(bytes), limit).read_to_end(&mut plain) {
        Ok(_) => Ok(plain),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(DataError::TooLarge {
            path: path.to_owned(),
            limit,
            fix: "a plain file may have any size: if you trust it, unpack it with `gunzip`",
        }),
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

/// Writes images in this format, for the generator of the embedded subset.
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

/// Writes labels in this format.
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

    fn parse(images: &[u8], labels: &[u8]) -> Result<Samples, String> {
        parse_pair(Path::new("im"), images, Path::new("la"), labels).map_err(|e| e.to_string())
    }

    #[test]
    fn reads_what_it_wrote() {
        let (images, labels) = two();
        let samples = parse(&images, &labels).unwrap();
        assert_eq!(samples.labels, [3, 9]);
        assert_eq!(samples.images, images[16..]);
    }

    #[test]
    fn names_file_offset_and_expectation_of_a_truncated_file() {
        let (images, labels) = two();
        assert_eq!(
            parse(&images[..1000], &labels).unwrap_err(),
            "im, byte 1000: expected 1584 bytes in all, as the header's 2 items take, \
             found 1000 bytes"
        );
        assert!(
            parse(&images[..3], &labels)
                .unwrap_err()
                .starts_with("im, byte 3: expected the magic")
        );
    }

    #[test]
    fn refuses_labels_where_images_belong() {
        let (_, labels) = two();
        assert_eq!(
            parse(&labels, &labels).unwrap_err(),
            "im, byte 0: expected magic number 0x00000803 (IDX images), found 0x00000801"
        );
    }

    #[test]
    fn refuses_a_label_out_of_range_and_a_count_that_differs() {
        let (images, mut labels) = two();
        labels[9] = 10;
        assert_eq!(
            parse(&images, &labels).unwrap_err(),
            "la, byte 9: expected a label below 10, found 10"
        );
        let one = encode_labels(&[1]);
        assert!(
            parse(&images, &one)
                .unwrap_err()
                .contains("expected 2 labels")
        );
    }

    #[test]
    fn refuses_a_small_gzip_file_that_unpacks_to_far_too_much() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let zeros = vec![0; 1 << 20];
        for _ in 0..=MAX_UNPACKED >> 20 {
            io::Write::write_all(&mut packer, &zeros).unwrap();
        }
        let (images, labels) = (packer.finish().unwrap(), two().1);
        assert!(images.len() < 2 << 20);
        assert_eq!(
            parse(&images, &labels).unwrap_err(),
            "im: unpacks to more than 268435456 bytes; a plain file may have any size: if you \
             trust it, unpack it with `gunzip`"
        );
    }

    #[test]
    fn refuses_a_damaged_gzip_stream() {
        let (images, labels) = two();
        let mut packed = super::super::embedded::gzip(&images);
        assert!(parse(&packed, &labels).is_ok());
        let end = packed.len() - 9;
        packed.truncate(end);
        let said = parse(&packed, &labels).unwrap_err();
        assert!(said.contains("expected an intact gzip stream"), "{said}");
    }
}
