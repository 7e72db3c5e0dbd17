//! Arrays of NumPy: features in one file, labels in another.

mod array;
mod element;
mod header;

pub(super) use array::{Array, NameOfEach, gather_arrays};

use std::fs::File;
use std::path::Path;

use super::ImportError;
use super::gather::Gathered;
use super::names::Names;
use super::options::Options;
use super::read::Account;
use crate::data::fetch::Progress;

/// Reads features and labels; clients, if any, are in a third file.
///
/// # Errors
/// Names the file and the byte or record.
pub(super) fn gather(
    features: &Path,
    labels: &Path,
    options: &Options,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<Gathered, ImportError> {
    let open = |path: &Path| File::open(path).map_err(gleaner_files::at(path));
    let length = |file: &File| file.metadata().map(|about| about.len()).unwrap_or(0);
    let clients = options.client.as_deref().map(Path::new);
    let files = [Some(features), Some(labels), clients]
        .into_iter()
        .flatten();
    let mut total = 0;
    for path in files {
        total += length(&open(path)?);
    }
    progress.step("read", Some(total));
    let mut account = Account::new(progress);
    let labels = NameOfEach::read(labels, account.file(open(labels)?), Names::labels())?;
    let owners =
        clients.map(|path| NameOfEach::read(path, account.file(open(path)?), Names::clients()));
    let owners = owners.transpose()?;
    let watched = account.file(open(features)?);
    let mut array = Array::open(features, watched)?;
    let gatherer = gather_arrays(&mut array, &labels, owners.as_ref(), options, folder)?;
    drop(array);
    let source = account.source("npy", features);
    gatherer
        .finish(source)
        .map_err(|what| ImportError::whole(features, what))
}
