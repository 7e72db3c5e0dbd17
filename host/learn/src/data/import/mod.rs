//! From a user's files to a data set of our own format.
//!
//! A source (`csv`, `npy`, `npz`, `wav`) is read once, row by row, in constant memory:
//! values go into a temporary file (`gather`), names of classes and clients into tables, and
//! stretches of rows that belong together into a list (`stretch`). Only then is it known which rows
//! are tested on; the scale is fitted to the others (`scale`), and windows are cut (`cut`).

mod csv;
mod cut;
mod error;
mod gather;
mod names;
mod npy;
mod npz;
mod number;
mod options;
mod read;
mod scale;
mod stretch;
mod wav;

pub use error::{ImportError, Place};
pub use options::{Input, Options, Scaling, Testing};
pub use scale::write_scale;

use std::path::Path;

use crate::data::fetch::Progress;
use crate::data::own::{FILE, Header, MOST_CLASSES, Writer, check_name};

use gather::Gathered;

/// What an import made.
#[derive(Clone, Debug)]
pub struct Imported {
    /// What the set states about itself.
    pub header: Header,
    /// Its SHA-256.
    pub digest: [u8; 32],
    /// Windows that were left out since they would lie on both sides of the cut between training
    /// and test.
    pub straddling: u64,
    /// Stretches of rows too short for a window that were left out.
    pub short: u64,
    /// Share of the values that lie beyond the scale.
    pub clipped: f64,
}

/// Imports `options.input` as a data set called `name` into `directory`.
///
/// # Errors
/// Names the file with line or record and what is wrong there, or the option; nothing is written
/// then.
pub fn import(
    name: &str,
    options: &Options,
    directory: &Path,
    progress: &mut dyn Progress,
) -> Result<Imported, ImportError> {
    check_name(name)?;
    options.check()?;
    let path = directory.join(FILE);
    if path.exists() && !options.force {
        return Err(ImportError::Exists { path });
    }
    let is_new = !directory.exists();
    std::fs::create_dir_all(directory).map_err(gleaner_files::at(directory))?;
    let result = import_into(name, options, directory, progress);
    if result.is_err() && is_new {
        // What could not be filled is not left behind; why it could not is what matters.
        let _ = std::fs::remove_dir(directory);
    }
    result
}

fn import_into(
    name: &str,
    options: &Options,
    directory: &Path,
    progress: &mut dyn Progress,
) -> Result<Imported, ImportError> {
    let mut gathered = match &options.input {
        Input::Csv(path) => csv::gather(path, options, directory, progress),
        Input::Npy { features, labels } => {
            npy::gather(features, labels, options, directory, progress)
        }
        Input::Npz(path) => npz::gather(path, options, directory, progress),
        Input::Wav(path) => wav::gather(path, options, directory, progress),
    }?;
    let whole = |what: String| ImportError::Whole {
        path: options.input.path().to_owned(),
        what,
    };
    let plan = stretch::plan(&mut gathered, options).map_err(whole)?;
    let Gathered {
        spool,
        columns,
        steps,
        labels,
        clients,
        source,
        ..
    } = gathered;
    debug_assert!(labels.len() <= MOST_CLASSES);
    let values = spool.values();
    progress.step("scale", Some(spool.bytes()));
    let columns = scale::fit(&spool, &columns, &plan, &options.scaling, progress)?;
    let header = Header {
        name: name.to_owned(),
        about: options.about.clone(),
        classes: labels,
        columns,
        window: options.window * steps,
        clients,
        train: plan.train,
        test: plan.test,
        source,
    };
    progress.step("write", Some(spool.bytes()));
    let mut writer = Writer::create(directory, &header)?;
    let clipped = cut::write(&spool, &header, &plan, options, &mut writer, progress)?;
    let digest = writer.finish()?;
    Ok(Imported {
        header,
        digest,
        straddling: plan.straddling,
        short: plan.short,
        clipped: clipped as f64 / values.max(1) as f64,
    })
}

#[cfg(test)]
mod tests;
