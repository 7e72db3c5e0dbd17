//! NumPy arrays: features and labels in separate files (`.npy`) or in one archive (`.npz`).

mod array;
mod dtype;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use gleaner_files::printable;
use zip::ZipArchive;

use array::{Array, NameOfEach, gather_arrays};

use super::ImportError;
use super::gather::Gathered;
use super::names::Names;
use super::options::Options;
use super::read::SourceHasher;
use crate::data::fetch::Progress;

/// Unpacked bytes of an array that are read from an archive of any size.
const ALWAYS_UNPACKED: u64 = 1 << 30;

/// How many times the size of its archive an array may have.
const MOST_RATIO: u64 = 100;

/// Returns the most bytes of an array in an archive of `packed` bytes: a few kilobytes must not fill
/// the disk.
const fn most_unpacked(packed: u64) -> u64 {
    let most = packed.saturating_mul(MOST_RATIO);
    if most > ALWAYS_UNPACKED {
        most
    } else {
        ALWAYS_UNPACKED
    }
}

/// Reads features and labels; the names of clients, if any, are in a third file.
///
/// # Errors
/// Names the file, and the byte or record that is wrong.
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
    let mut hasher = SourceHasher::new(progress);
    let labels = NameOfEach::read(labels, hasher.file(open(labels)?), Names::labels())?;
    let owners =
        clients.map(|path| NameOfEach::read(path, hasher.file(open(path)?), Names::clients()));
    let owners = owners.transpose()?;
    let watched = hasher.file(open(features)?);
    let mut array = Array::open(features, watched)?;
    let gatherer = gather_arrays(&mut array, &labels, owners.as_ref(), options, folder)?;
    drop(array);
    let source = hasher.source("npy", features);
    gatherer
        .finish(source)
        .map_err(|what| ImportError::whole(features, what))
}

/// Reads the arrays of an archive: labels and clients are found by name, features are the remaining array.
///
/// # Errors
/// Names the archive, the array in it, and the record that is wrong.
pub(super) fn gather_archive(
    path: &Path,
    options: &Options,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<Gathered, ImportError> {
    let broken = |error: zip::result::ZipError| {
        ImportError::whole(
            path,
            format!("is damaged or not an archive (.npz): {error}"),
        )
    };
    let file = File::open(path).map_err(gleaner_files::at(path))?;
    let length = file.metadata().map_err(gleaner_files::at(path))?.len();
    progress.step("read", Some(length));
    let mut hasher = SourceHasher::new(progress);
    let mut whole = hasher.file(&file);
    std::io::copy(&mut whole, &mut std::io::sink()).map_err(gleaner_files::at(path))?;
    let source = hasher.source("npz", path);
    let mut archive = ZipArchive::new(&file).map_err(broken)?;
    let all = archive
        .file_names()
        .map(|name| name.map(|name| name.into_owned()));
    let all: Vec<String> = all.collect::<Result<_, _>>().map_err(broken)?;
    let features = features_name(&all, options).map_err(|what| ImportError::whole(path, what))?;
    // Errors name `archive.npz/array.npy`.
    let inside = |name: &str| path.join(format!("{name}.npy"));
    let mut read = |name: &str, names: Names| {
        let entry = archive.by_name(&format!("{name}.npy")).map_err(broken)?;
        NameOfEach::read(&inside(name), entry, names)
    };
    let labels = read(&options.label, Names::labels())?;
    let clients = options.client.as_deref();
    let clients = clients
        .map(|name| read(name, Names::clients()))
        .transpose()?;
    let entry = archive
        .by_name(&format!("{features}.npy"))
        .map_err(broken)?;
    let limit = most_unpacked(length);
    let unpacked = entry.size();
    if unpacked > limit {
        let what = format!(
            "{features}.npy unpacks to {unpacked} bytes, more than {limit}: if you trust it, unpack it \
             with `unzip` and import it with --npy"
        );
        return Err(ImportError::whole(path, what));
    }
    // Its size is what the archive states, so no more is read.
    let entry: Box<dyn Read + '_> = Box::new(entry.take(limit));
    let mut array = Array::open(&inside(&features), entry)?;
    let gatherer = gather_arrays(&mut array, &labels, clients.as_ref(), options, folder)?;
    let finished = gatherer.finish(source);
    finished.map_err(|what| ImportError::whole(path, what))
}

/// Returns the name of the array that holds the features.
fn features_name(all: &[String], options: &Options) -> Result<String, String> {
    let names: Vec<&str> = all
        .iter()
        .filter_map(|name| name.strip_suffix(".npy"))
        .collect();
    let some: Vec<_> = names.iter().take(20).map(|name| printable(name)).collect();
    let more = if names.len() > some.len() {
        ", ..."
    } else {
        ""
    };
    let known = format!("{}{more}", some.join(", "));
    let mut left = names.clone();
    let wanted = [
        (Some(&options.label), "--label-column"),
        (options.client.as_ref(), "--client-column"),
    ];
    for (name, option) in wanted {
        let Some(name) = name else { continue };
        let Some(at) = left.iter().position(|other| other == name) else {
            return Err(format!(
                "no array is called `{name}` ({option}); there are {known}"
            ));
        };
        left.swap_remove(at);
    }
    left.retain(|name| !options.ignore.iter().any(|other| other == name));
    match left[..] {
        [only] => Ok(only.to_owned()),
        _ => Err(format!(
            "one array of features is expected beside the labels; there are {known}: --ignore leaves \
             arrays out"
        )),
    }
}
