//! Imports a user's files as a data set in Gleaner's own format.
//!
//! A source (`csv`, `npy`, `npz`, `wav`) is read once, row by row, in constant memory:
//! values go into a temporary file (`gather`), names of classes and clients into tables (`names`), and
//! stretches of rows that belong together into a list. Then the rows to test on are chosen
//! (`stretch`), the scale is fitted to the others (`scale`), and windows are written (`stretch`).

mod csv;
mod error;
mod gather;
mod names;
mod npy;
mod options;
mod read;
mod scale;
mod stretch;
mod table;
mod wav;

pub use error::{ImportError, Place};
pub use options::{Input, Options, Scaling, Testing};
pub use scale::write_scale;

use std::path::Path;

use crate::data::check_name;
use crate::data::fetch::Progress;
use crate::data::own::{FILE, Header, MOST_CLASSES, Writer};

use gather::Gathered;

/// The result of an import.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The header of the data set.
    pub header: Header,
    /// SHA-256 of the data set.
    pub digest: [u8; 32],
    /// Windows left out because they would mix training and test rows.
    pub straddling: u64,
    /// Stretches of rows left out because they are shorter than a window.
    pub short: u64,
    /// Share of the values outside the scale, which became 0 or 255.
    pub clipped: f64,
}

/// Imports `options.input` as a data set called `name` into `directory`.
///
/// # Errors
/// Names the file and the line or record that is wrong, or the option. Nothing is written then.
///
/// # Examples
/// ```
/// use gleaner_learn::data::fetch::Progress;
/// use gleaner_learn::data::import::{Input, Options, import};
///
/// struct Silent;
/// impl Progress for Silent {
///     fn step(&mut self, _: &str, _: Option<u64>) {}
///     fn advance(&mut self, _: u64) {}
/// }
///
/// let folder = tempfile::tempdir()?;
/// let table = folder.path().join("shakes.csv");
/// let rows: String = (0..20).map(|at| format!("{at},{}\n", ["still", "shaken"][at % 2])).collect();
/// std::fs::write(&table, format!("acceleration,label\n{rows}"))?;
///
/// let options = Options::new(Input::Csv(table));
/// let made = import("shakes", &options, &folder.path().join("shakes"), &mut Silent)?;
/// assert_eq!(made.header.classes, ["shaken", "still"]);
/// assert_eq!((made.header.train, made.header.test), (16, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
        // The error of the import is reported, not one of cleaning up.
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
        Input::Npz(path) => npy::gather_archive(path, options, directory, progress),
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
    let clipped = stretch::write(&spool, &header, &plan, options, &mut writer, progress)?;
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
