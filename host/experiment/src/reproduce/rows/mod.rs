//! Rows: complete runs as small files that can be committed. A reproduction does not execute a run whose
//! row is there, and reads rows and run directories alike.

mod keeper;
mod row;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gleaner_files::{printable, read_at_most, write_atomically};

use super::records::{RoundFigures, RunRecord};
use super::setting::Recipe;
use super::*;
use crate::plan::{digest_of, id_of};
pub use keeper::Keeper;
use row::{Found, Head};

/// Extension of the files.
const EXTENSION: &str = "jsonl";
/// Most bytes of a row: some 30,000 rounds.
const LARGEST: u64 = 4 << 20;

/// The rows of a directory, by the id of their run.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    dir: PathBuf,
    current: BTreeMap<String, RunRecord>,
    stale: Vec<(PathBuf, String)>,
}

impl Rows {
    /// Reads the rows of a directory, which need not exist yet.
    ///
    /// # Errors
    /// Names a file that cannot be read or is damaged. A row of another scenario than the program has now
    /// is no error: see [`Rows::stale`].
    pub fn read(dir: &Path) -> Result<Self, ExperimentError> {
        let mut rows = Self {
            dir: dir.to_owned(),
            ..Self::default()
        };
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(rows),
            Err(error) => return Err(gleaner_files::at(dir)(error).into()),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(gleaner_files::at(dir))?.path();
            if path.extension().and_then(OsStr::to_str) == Some(EXTENSION) {
                paths.push(path);
            }
        }
        paths.sort();
        for path in paths {
            let damaged = |problem: String| ExperimentError::Row {
                path: path.clone(),
                problem,
            };
            let bytes = read_at_most(&path, LARGEST).map_err(gleaner_files::at(&path))?;
            let text = String::from_utf8(bytes).map_err(|_| damaged("it is no text".to_owned()))?;
            let head = Head::decode(&text).map_err(damaged)?;
            if path.file_stem() != Some(OsStr::new(&head.run.id)) {
                let id = printable(&head.run.id).into_owned();
                return Err(damaged(format!("it is the row of run {id}")));
            }
            match head.check().map_err(damaged)? {
                Found::Current(run) => drop(rows.current.insert(run.id.clone(), *run)),
                Found::Stale(setting) => rows.stale.push((path.clone(), setting)),
            }
        }
        Ok(rows)
    }

    /// Returns the number of rows that hold.
    pub fn count(&self) -> usize {
        self.current.len()
    }

    /// Returns the files and settings of rows whose preset or keys mean another scenario now.
    pub fn stale(&self) -> &[(PathBuf, String)] {
        &self.stale
    }

    /// Returns the row of a run.
    pub fn get(&self, id: &str) -> Option<&RunRecord> {
        self.current.get(id)
    }

    /// Writes the row of a complete run.
    pub(super) fn add(&mut self, planned: &Planned, run: RunRecord) -> Result<(), ExperimentError> {
        let id = planned.point.id.clone();
        let setting = planned.name();
        let head = Head::new(setting, &planned.recipe, &planned.point.scenario, run);
        fs::create_dir_all(&self.dir).map_err(gleaner_files::at(&self.dir))?;
        let path = self.dir.join(format!("{id}.{EXTENSION}"));
        write_atomically(&path, head.encode().as_bytes())?;
        self.current.insert(id, head.run);
        Ok(())
    }
}
