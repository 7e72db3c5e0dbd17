//! Data sets inside the program: a subset of MNIST, and the small sets `har` and `digits`.
//!
//! The subset holds the first 2,200 training and the first 200 test images of each digit, in file
//! order. Half of 22,000 images covers ten clients of 1000 samples at any non-IID degree, with
//! room for the spread of their sizes. The files are gzip-compressed IDX;
//! `gleaner data embed DIRECTORY` writes them from the full set.
//!
//! The files of `har` and `digits` were written by `gleaner data import` and compressed;
//! `data/README.md` of this crate has their sources, licences and commands.

use std::io::{Read, Write};
use std::path::Path;

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};

use super::{DataError, Dataset, DatasetKind, Facts, Samples, Shape, idx, own};

const HAR: &[u8] = include_bytes!("../../data/har/dataset.gds.gz");
const DIGITS: &[u8] = include_bytes!("../../data/digits/dataset.gds.gz");

/// Training and test images of each digit.
const TRAIN_PER_CLASS: usize = 2_200;
const TEST_PER_CLASS: usize = 200;
/// The files that [`encode`] writes.
pub const FILES: [&str; 4] = [
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
];
const CLASSES: usize = 10;

const CONTENT: [&[u8]; 4] = [
    include_bytes!("../../data/mnist/train-images-idx3-ubyte.gz"),
    include_bytes!("../../data/mnist/train-labels-idx1-ubyte.gz"),
    include_bytes!("../../data/mnist/t10k-images-idx3-ubyte.gz"),
    include_bytes!("../../data/mnist/t10k-labels-idx1-ubyte.gz"),
];

/// Unpacks the subset of MNIST.
///
/// # Errors
/// Only if the program was built with damaged files.
///
/// # Examples
/// ```
/// let set = gleaner_learn::data::embedded::mnist_subset()?;
/// assert_eq!((set.train.len(), set.test.len()), (22_000, 2_000));
/// assert_eq!(set.inputs(), 784);
/// # Ok::<(), gleaner_learn::data::DataError>(())
/// ```
pub fn mnist_subset() -> Result<Dataset, DataError> {
    let pair = |first: usize| {
        let [images, labels] = [Path::new(FILES[first]), Path::new(FILES[first + 1])];
        idx::parse_pair(images, CONTENT[first], labels, CONTENT[first + 1])
    };
    Ok(Dataset {
        name: DatasetKind::MnistSubset.to_string(),
        shape: Shape::MNIST,
        classes: CLASSES,
        class_names: Vec::new(),
        train: pair(0)?,
        test: pair(2)?,
        owners: None,
    })
}

/// Returns shape, classes and training samples of a set inside the program.
pub(super) const fn facts(kind: DatasetKind) -> Facts {
    match kind {
        DatasetKind::Har => Facts {
            shape: Shape {
                height: 32,
                width: 6,
                channels: 1,
            },
            classes: 7,
            train: 2_775,
        },
        DatasetKind::Digits => Facts {
            shape: Shape {
                height: 1,
                width: 64,
                channels: 1,
            },
            classes: 10,
            train: 1_442,
        },
        _ => Facts {
            shape: Shape::MNIST,
            classes: CLASSES,
            train: TRAIN_PER_CLASS * CLASSES,
        },
    }
}

/// Unpacks a set inside the program.
///
/// # Errors
/// Only if the program was built with damaged files.
pub(super) fn load(kind: DatasetKind) -> Result<Dataset, DataError> {
    let packed = match kind {
        DatasetKind::Har => HAR,
        DatasetKind::Digits => DIGITS,
        _ => return mnist_subset(),
    };
    let name = kind.to_string();
    let path = Path::new(&name).join(own::FILE);
    let mut bytes = Vec::new();
    let unpacked = GzDecoder::new(packed).read_to_end(&mut bytes);
    unpacked.map_err(gleaner_files::at(&path))?;
    own::parse(&path, &bytes, &name)
}

/// Cuts the subset out of the full set and returns the four files, in the order of [`FILES`].
#[must_use]
pub fn encode(full: &Dataset) -> [Vec<u8>; 4] {
    let train = first_of_each_class(&full.train, TRAIN_PER_CLASS);
    let test = first_of_each_class(&full.test, TEST_PER_CLASS);
    [
        gzip(&idx::encode_images(&train.images)),
        gzip(&idx::encode_labels(&train.labels)),
        gzip(&idx::encode_images(&test.images)),
        gzip(&idx::encode_labels(&test.labels)),
    ]
}

fn first_of_each_class(samples: &Samples, per_class: usize) -> Samples {
    let mut taken = [0; CLASSES];
    let mut chosen = Samples::default();
    for (image, &label) in samples
        .images
        .chunks_exact(Shape::MNIST.bytes())
        .zip(&samples.labels)
    {
        let count = &mut taken[usize::from(label)];
        if *count < per_class {
            *count += 1;
            chosen.images.extend(image);
            chosen.labels.push(label);
        }
    }
    chosen
}

/// Compresses without a time stamp, so that the same images give the same file.
pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("writing to memory does not fail")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subset_is_balanced_and_of_the_stated_size() {
        let set = mnist_subset().unwrap();
        assert_eq!(set.train.class_counts(10), [TRAIN_PER_CLASS; 10]);
        assert_eq!(set.test.class_counts(10), [TEST_PER_CLASS; 10]);
        assert_eq!(set.train.images.len(), 22_000 * 784);
        // MNIST is known to be four fifths black.
        let black = set.train.images.iter().filter(|&&pixel| pixel == 0).count();
        let share = black as f64 / set.train.images.len() as f64;
        assert!((0.80..0.82).contains(&share), "{share}");
    }

    #[test]
    fn cutting_the_subset_out_of_itself_gives_the_committed_labels() {
        let set = mnist_subset().unwrap();
        let [_, train_labels, _, test_labels] = encode(&set);
        assert_eq!(train_labels, CONTENT[1]);
        assert_eq!(test_labels, CONTENT[3]);
    }

    #[test]
    fn sets_have_the_stated_shape_and_classes() {
        for kind in [
            DatasetKind::Har,
            DatasetKind::Digits,
            DatasetKind::MnistSubset,
        ] {
            let (set, known) = (load(kind).unwrap(), facts(kind));
            assert_eq!(
                (set.shape, set.classes, set.train.len()),
                (known.shape, known.classes, known.train),
                "{kind}"
            );
            assert_eq!(set.name, kind.to_string());
            let counts = set.test.class_counts(set.classes);
            assert!(counts.iter().all(|&count| count > 0), "{kind}: {counts:?}");
        }
    }

    #[test]
    fn each_of_ten_people_does_every_exercise() {
        let set = load(DatasetKind::Har).unwrap();
        let owners = set.owners.unwrap();
        assert_eq!(owners.names.len(), 10);
        for person in 0..10 {
            let mine = owners.train.iter().zip(&set.train.labels);
            let mut seen: Vec<u8> = mine
                .filter(|(owner, _)| **owner == person)
                .map(|(_, label)| *label)
                .collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 7, "{person}");
        }
    }
}
