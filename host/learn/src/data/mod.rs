//! Data sets: samples of one shape with class labels, from the program, the cache or a folder.
//!
//! - [`embedded`]: the sets inside the program.
//! - [`own`], [`import`]: the format of users' own sets, and the import of their files.
//! - `idx`: the file format of MNIST.
//! - [`picture`]: one image from a file.
//! - [`catalogue`]: the sets by name, with the files and digests of those that can be fetched.
//! - [`cache`], [`fetch`]: the folder of fetched sets, and the fetching.
//!
//! Pixels are bytes here; `train` scales them.

use std::path::Path;

pub mod cache;
pub mod catalogue;
pub mod embedded;
mod error;
pub mod fetch;
mod idx;
pub mod import;
mod name;
pub mod own;
pub mod picture;

pub use catalogue::DatasetKind;
pub use error::DataError;
pub use name::{DatasetName, Facts, NameError, check_name, facts, imported, load_from};

/// The size of one image; pixels are stored row by row, channels together.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub height: usize,
    pub width: usize,
    /// Bytes of a pixel.
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
    /// The bytes of all images, one image after the other.
    pub images: Vec<u8>,
    /// The class of every image.
    pub labels: Vec<u8>,
}

impl Samples {
    /// Returns the number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns whether there are no images.
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

    /// Counts the inputs of these images that are not zero.
    ///
    /// # Panics
    /// When there is no image of such a number.
    #[must_use]
    pub fn nonzero_inputs(&self, indices: &[u32]) -> u64 {
        let bytes = self.images.len() / self.len().max(1);
        let of_image = |&index: &u32| {
            let image = &self.images[index as usize * bytes..][..bytes];
            image.iter().filter(|&&input| input != 0).count() as u64
        };
        indices.iter().map(of_image).sum()
    }
}

/// A data set: training and test samples of one shape.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// The name under which the set was loaded.
    pub name: String,
    pub shape: Shape,
    pub classes: usize,
    /// Names of the classes; empty where they are digits or unknown.
    pub class_names: Vec<String>,
    pub train: Samples,
    pub test: Samples,
    /// The clients that gathered the samples, where known.
    pub owners: Option<Owners>,
}

/// The clients that gathered the samples of a set: their names, and for every sample an index into
/// the names.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owners {
    pub names: Vec<String>,
    pub train: Vec<u16>,
    pub test: Vec<u16>,
}

impl Dataset {
    /// Returns the number of features of a sample, one byte each.
    #[must_use]
    pub const fn inputs(&self) -> usize {
        self.shape.bytes()
    }

    /// Returns the name of a class, or its number if it has none.
    #[must_use]
    pub fn class_name(&self, class: usize) -> String {
        let name = self.class_names.get(class).cloned();
        name.unwrap_or_else(|| class.to_string())
    }
}

/// Loads a data set by name, from the program or the cache, or by the path of its folder.
///
/// # Errors
/// When the name is unknown, or files are missing, corrupt, truncated or mislabelled.
pub fn load(name: &str) -> Result<Dataset, DataError> {
    match name.parse::<DatasetKind>().map(|kind| (kind, kind.set())) {
        Ok((kind, None)) => embedded::load(kind),
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
