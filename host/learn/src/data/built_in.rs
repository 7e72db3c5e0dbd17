//! The sets that every build carries: MNIST's first digits, and two small tasks of other kinds.
//!
//! The files of `har` and `digits` are those of `gleaner data import`, packed; `data/README.md` beside
//! them has their sources, licences and the commands that made them.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

use super::{DataError, Dataset, DatasetKind, Facts, Shape, embedded, own};

const HAR: &[u8] = include_bytes!("../../data/har/dataset.gds.gz");
const DIGITS: &[u8] = include_bytes!("../../data/digits/dataset.gds.gz");

/// Says what a set in this program is.
pub(super) const fn facts(kind: DatasetKind) -> Facts {
    match kind {
        DatasetKind::Har => Facts {
            shape: Shape {
                height: 32,
                width: 6,
                channels: 1,
            },
            classes: 7,
        },
        DatasetKind::Digits => Facts {
            shape: Shape {
                height: 1,
                width: 64,
                channels: 1,
            },
            classes: 10,
        },
        _ => Facts {
            shape: Shape::MNIST,
            classes: 10,
        },
    }
}

/// Unpacks a set of this program.
///
/// # Errors
/// Only if this program was built with damaged files.
pub(super) fn load(kind: DatasetKind) -> Result<Dataset, DataError> {
    let packed = match kind {
        DatasetKind::Har => HAR,
        DatasetKind::Digits => DIGITS,
        _ => return embedded::mnist_subset(),
    };
    let name = kind.to_string();
    let path = Path::new(&name).join(own::FILE);
    let mut bytes = Vec::new();
    let unpacked = GzDecoder::new(packed).read_to_end(&mut bytes);
    unpacked.map_err(gleaner_files::at(&path))?;
    own::parse(&path, &bytes, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_what_is_said_of_them() {
        for kind in [
            DatasetKind::Har,
            DatasetKind::Digits,
            DatasetKind::MnistSubset,
        ] {
            let (set, known) = (load(kind).unwrap(), facts(kind));
            assert_eq!(
                (set.shape, set.classes),
                (known.shape, known.classes),
                "{kind}"
            );
            assert_eq!(set.name, kind.to_string());
            let counts = set.test.class_counts(set.classes);
            assert!(counts.iter().all(|&count| count > 0), "{kind}: {counts:?}");
        }
    }

    #[test]
    fn exercises_are_those_of_ten_people() {
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
