//! Data sets by name: those of the catalogue, and those a user imported.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::own;
use super::{DataError, Dataset, DatasetKind, Shape, cache, embedded, load, load_files};

/// The name of a data set: one of the catalogue, or one that was imported.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize
)]
#[serde(try_from = "String", into = "String")]
pub struct DatasetName(String);

impl DatasetName {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the set of the catalogue with this name; `None` means an imported set.
    #[must_use]
    pub fn kind(&self) -> Option<DatasetKind> {
        self.0.parse().ok()
    }
}

impl From<DatasetKind> for DatasetName {
    fn from(kind: DatasetKind) -> Self {
        Self(kind.to_string())
    }
}

impl From<DatasetName> for String {
    fn from(name: DatasetName) -> Self {
        name.0
    }
}

impl TryFrom<String> for DatasetName {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, NameError> {
        match check_name(&name) {
            Err(error @ NameError::Unfit { .. }) => Err(error),
            _ => Ok(Self(name)),
        }
    }
}

impl FromStr for DatasetName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        name.to_owned().try_into()
    }
}

impl fmt::Display for DatasetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Bytes of the longest name.
const LONGEST: usize = 64;

/// An invalid name for a data set.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is not a valid folder name on every system.
    #[error(
        "`{name}` cannot name a data set: use at most {LONGEST} lower-case letters, digits, `-` and \
         `_`, a letter or digit first"
    )]
    Unfit { name: String },
    /// The name belongs to a set of the catalogue.
    #[error("`{name}` is the name of a data set this program knows: choose another")]
    Known { name: String },
}

/// Checks the name of a data set to be imported.
///
/// # Errors
/// When the name is not plain, or that of a set in the catalogue.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let name = name.to_owned();
    if !is_plain(&name) {
        return Err(NameError::Unfit { name });
    }
    match name.parse::<DatasetKind>() {
        Ok(_) => Err(NameError::Known { name }),
        Err(_) => Ok(()),
    }
}

/// Returns whether a name is that of one folder on every system and not a path.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let first = name.bytes().next().is_some_and(plain);
    let all = name
        .bytes()
        .all(|byte| plain(byte) || b"-_".contains(&byte));
    first && all && name.len() <= LONGEST
}

/// Shape and numbers of classes and training samples of a set, known before it is loaded.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub shape: Shape,
    pub classes: usize,
    pub train: usize,
}

impl Facts {
    /// Returns the number of features of a sample, one byte each.
    #[must_use]
    pub const fn inputs(&self) -> usize {
        self.shape.bytes()
    }
}

/// Returns shape, classes and training samples of a set without loading it. A non-empty `directory` holds its files.
///
/// # Errors
/// When there is no such set, or the header of an imported one is damaged.
pub fn facts(name: &DatasetName, directory: &Path) -> Result<Facts, DataError> {
    if let Some(kind) = name.kind() {
        return Ok(match kind.set() {
            Some(set) => Facts {
                shape: set.shape,
                classes: set.classes,
                train: set.train,
            },
            None => embedded::facts(kind),
        });
    }
    let header = own::read_header(&home(name.as_str(), directory)?)?;
    Ok(Facts {
        shape: header.shape(),
        classes: header.classes.len(),
        train: usize::try_from(header.train).unwrap_or(usize::MAX),
    })
}

/// Loads a set. A non-empty `directory` holds its files.
///
/// # Errors
/// As [`load`].
pub fn load_from(name: &DatasetName, directory: &Path) -> Result<Dataset, DataError> {
    if directory.as_os_str().is_empty() {
        return load(name.as_str());
    }
    match name.kind().map(DatasetKind::set) {
        Some(Some(set)) => load_files(set, directory, set.name()),
        Some(None) => load(name.as_str()),
        None => own::read(&home(name.as_str(), directory)?, name.as_str()),
    }
}

/// Returns the folder of an imported set.
pub(super) fn home(name: &str, directory: &Path) -> Result<PathBuf, DataError> {
    let place = match directory.as_os_str().is_empty() {
        true => cache::directory().unwrap_or_default().join(name),
        false => directory.to_owned(),
    };
    match is_plain(name) && place.join(own::FILE).is_file() {
        true => Ok(place),
        false => Err(DataError::UnknownSet {
            name: name.to_owned(),
        }),
    }
}

/// Returns the names of all imported sets in the cache, sorted.
#[must_use]
pub fn imported() -> Vec<String> {
    let folders = cache::directory()
        .ok()
        .and_then(|root| root.read_dir().ok());
    let mut names: Vec<String> = folders
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join(own::FILE).is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| check_name(name).is_ok())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_the_catalogue_to_an_import_or_nowhere() {
        let name = |text: &str| text.parse::<DatasetName>();
        assert_eq!(name("har").unwrap().kind(), Some(DatasetKind::Har));
        assert_eq!(name("watch").unwrap().kind(), None);
        assert!(name("../watch").is_err());
        let nowhere = tempfile::tempdir().unwrap();
        let found = facts(&name("watch").unwrap(), nowhere.path());
        assert!(matches!(found, Err(DataError::UnknownSet { .. })));
    }

    #[test]
    fn only_plain_names_that_are_free_are_given() {
        for name in ["watch", "my-sensors_2", "7"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "-a", "..", "a/b", "a\\b", "Watch", "é", &"a".repeat(65)] {
            let unfit = matches!(check_name(name), Err(NameError::Unfit { .. }));
            assert!(unfit, "{name}");
        }
        assert!(matches!(check_name("mnist"), Err(NameError::Known { .. })));
    }

    #[test]
    fn a_set_in_a_folder_of_its_own_is_found_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let header = own::tests::header();
        let mut writer = own::Writer::create(folder.path(), &header).unwrap();
        for at in 0..4 {
            let record = own::Record {
                features: &[at; 4],
                label: at % 2,
                test: at == 3,
                owner: 0,
            };
            writer.record(&record).unwrap();
        }
        writer.finish().unwrap();
        let name = "watch".parse().unwrap();
        let known = facts(&name, folder.path()).unwrap();
        assert_eq!((known.inputs(), known.classes, known.train), (4, 2, 3));
        let set = load_from(&name, folder.path()).unwrap();
        assert_eq!(
            (set.name.as_str(), set.train.len(), set.inputs()),
            ("watch", 3, 4)
        );
    }
}
