//! Archives of NumPy's arrays, packed or not.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use zip::ZipArchive;

use super::ImportError;
use super::gather::Gathered;
use super::names::Names;
use super::npy::{Array, NameOfEach, gather_arrays};
use super::options::Options;
use super::read::Account;
use crate::data::fetch::Progress;

/// Reads the arrays of an archive: labels and clients by their names, features the one that is left.
///
/// # Errors
/// Names the archive, the array in it and the record.
pub(super) fn gather(
    path: &Path,
    options: &Options,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<Gathered, ImportError> {
    let broken = |error: zip::result::ZipError| {
        ImportError::whole(path, format!("is no intact archive (.npz): {error}"))
    };
    let file = File::open(path).map_err(gleaner_files::at(path))?;
    let length = file.metadata().map_err(gleaner_files::at(path))?.len();
    progress.step("read", Some(length));
    let mut account = Account::new(progress);
    let mut whole = account.file(&file);
    std::io::copy(&mut whole, &mut std::io::sink()).map_err(gleaner_files::at(path))?;
    let source = account.source("npz", path);
    let mut archive = ZipArchive::new(&file).map_err(broken)?;
    let all = archive
        .file_names()
        .map(|name| name.map(|name| name.into_owned()));
    let all: Vec<String> = all.collect::<Result<_, _>>().map_err(broken)?;
    let features = features(&all, options).map_err(|what| ImportError::whole(path, what))?;
    // An array of the archive has a path of its own in messages.
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
    let entry: Box<dyn Read + '_> = Box::new(entry);
    let mut array = Array::open(&inside(&features), entry)?;
    let gatherer = gather_arrays(&mut array, &labels, clients.as_ref(), options, folder)?;
    let finished = gatherer.finish(source);
    finished.map_err(|what| ImportError::whole(path, what))
}

/// Returns the name of the array that holds the features.
fn features(all: &[String], options: &Options) -> Result<String, String> {
    let names: Vec<&str> = all
        .iter()
        .filter_map(|name| name.strip_suffix(".npy"))
        .collect();
    let known = names.join(", ");
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
