//! Data sets: samples of one shape with class labels, from the program, the cache or a folder.
//!
//! - [`embedded`]: the MNIST subset every build carries.
//! - [`built_in`]: small sets of other tasks that every build carries too.
//! - [`own`], [`import`]: the format of users' own sets, and how their files become one.
//! - `idx`, `cifar`: the standard files, read as they are.
//! - [`picture`]: one image from a file.
//! - [`catalogue`]: the sets by name, and which files make up which set, with their digests.
//! - [`cache`], [`fetch`]: where fetched sets live and how they get there.
//!
//! Pixels stay bytes here; what a network wants of them is the business of `train`.

use std::path::Path;

mod bounded;
pub mod built_in;
pub mod cache;
pub mod catalogue;
mod cifar;
pub mod embedded;
mod error;
mod fashion;
pub mod fetch;
mod idx;
pub mod import;
mod name;
pub mod own;
pub mod picture;

pub use catalogue::DatasetKind;
pub use error::DataError;
pub use name::{DatasetName, Facts, facts, imported, load_from};

/// The size of one image; pixels are stored row by row, channels together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Bytes in a pixel.
    pub channels: usize,
}

impl Shape {
    /// The shape of an MNIST image.
    pub const MNIST: Self = Self {
        height: 28,
        width: 28,
        channels: 1,
    };
    /// The shape of a CIFAR-10 image.
    pub const CIFAR10: Self = Self {
        height: 32,
        width: 32,
        channels: 3,
    };

    /// Returns the bytes of one image.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.height * self.width * self.channels
    }
}

/// Images with their labels, in file order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// The images one after the other.
    pub images: Vec<u8>,
    /// One class per image.
    pub labels: Vec<u8>,
}

impl Samples {
    /// Returns the number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Says whether there is no image.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns how many images each of `classes` classes has.
    #[must_use]
    pub fn class_counts(&self, classes: usize) -> Vec<usize> {
        let mut counts = vec![0; classes];
        for &label in &self.labels {
            counts[usize::from(label)] += 1;
        }
        counts
    }
}

/// A data set: what to learn from and what to be judged by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// The name it was asked for by.
    pub name: String,
    /// The size of every image.
    pub shape: Shape,
    /// Labels are below this.
    pub classes: usize,
    /// What the classes are called; empty where they are the digits 0 to 9 or nobody says.
    pub class_names: Vec<String>,
    /// The training set.
    pub train: Samples,
    /// The test set.
    pub test: Samples,
    /// Whose the samples are, where that is known.
    pub owners: Option<Owners>,
}

/// Those who gathered the samples of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owners {
    /// Their names.
    pub names: Vec<String>,
    /// Whose each training sample is, as a place in the names.
    pub train: Vec<u16>,
    /// Whose each test sample is.
    pub test: Vec<u16>,
}

impl Dataset {
    /// Returns the number of features of a sample, one byte each.
    #[must_use]
    pub const fn inputs(&self) -> usize {
        self.shape.bytes()
    }

    /// Returns what a class is called: its name, or its number.
    #[must_use]
    pub fn class_name(&self, class: usize) -> String {
        let name = self.class_names.get(class).cloned();
        name.unwrap_or_else(|| class.to_string())
    }
}

/// Loads a data set by name, in this program or in the cache, or by the path of a folder that
/// holds the files of one.
///
/// # Errors
/// When the name is unknown, or files are missing, corrupt, truncated or mislabelled.
pub fn load(name: &str) -> Result<Dataset, DataError> {
    match name.parse::<DatasetKind>().map(|kind| (kind, kind.set())) {
        Ok((kind, None)) => built_in::load(kind),
        Ok((_, Some(set))) => {
            let directory = cache::directory()?.join(name);
            load_files(set, &directory, name).map_err(|error| match error {
                DataError::Malformed { .. } => DataError::Fetched {
                    name: name.to_owned(),
                    damage: Box::new(error),
                },
                error => error,
            })
        }
        Err(_) if name::home(name, Path::new("")).is_ok() => {
            own::read(&name::home(name, Path::new(""))?, name)
        }
        Err(_) if Path::new(name).is_dir() => {
            let directory = Path::new(name);
            if directory.join(own::FILE).is_file() {
                return own::read(directory, name);
            }
            let set = catalogue::recognise(directory).ok_or_else(|| DataError::NoKnownFiles {
                directory: directory.to_owned(),
            })?;
            load_files(set, directory, name)
        }
        Err(_) => Err(DataError::UnknownSet {
            name: name.to_owned(),
        }),
    }
}

/// Loads the files of `set` from `directory`.
///
/// # Errors
/// As [`load`].
pub fn load_files(
    set: &catalogue::Set,
    directory: &Path,
    name: &str,
) -> Result<Dataset, DataError> {
    let files = set.missing(directory);
    if !files.is_empty() {
        return Err(DataError::Missing {
            name: set.name().to_owned(),
            directory: directory.to_owned(),
            files,
        });
    }
    let (train, test) = (set.format.read)(directory)?;
    Ok(Dataset {
        name: name.to_owned(),
        shape: set.shape,
        classes: set.classes,
        class_names: set.class_names(),
        train,
        test,
        owners: None,
    })
}
