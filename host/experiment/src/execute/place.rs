//! Paths of a point's files.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gleaner_files::{FileError, write_atomically};

use gleaner_sim::run::{RunDirectory, new_id};

/// Extension of a folder that is being removed.
const DOOMED: &str = "gone";

/// Paths of one point.
pub(super) struct Place<'a> {
    dir: &'a Path,
    id: &'a str,
}

impl<'a> Place<'a> {
    pub(super) fn new(dir: &'a Path, id: &'a str) -> Self {
        Self { dir, id }
    }

    /// Returns the directory of the complete run.
    pub(super) fn run(&self) -> RunDirectory {
        RunDirectory::new(self.dir.join("points").join(self.id))
    }

    pub(super) fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// Returns the file that the worker of the point locks.
    pub(super) fn lock(&self) -> PathBuf {
        self.work().join(format!("{}.lock", self.id))
    }

    /// Returns a new folder for a run of this worker.
    pub(super) fn fresh(&self) -> Result<RunDirectory, FileError> {
        let work = self.work();
        fs::create_dir_all(&work).map_err(gleaner_files::at(&work))?;
        let id = new_id().map_err(gleaner_files::at(&work))?.to_string();
        Ok(RunDirectory::new(work.join(format!("{}.{id}", self.id))))
    }

    /// Returns the folders of active and dead workers.
    pub(super) fn leftovers(&self) -> Vec<RunDirectory> {
        let (_, found) = self.folders();
        found
    }

    /// Removes the folders of all workers, except for `own`.
    pub(super) fn sweep(&self, own: Option<&RunDirectory>) {
        let (doomed, left) = self.folders();
        let others = left.iter().filter(|it| Some(*it) != own);
        others.for_each(remove);
        // The worker that removed them may have died meanwhile.
        doomed.iter().for_each(erase);
    }

    /// Returns the folders that are being removed, and the others.
    fn folders(&self) -> (Vec<RunDirectory>, Vec<RunDirectory>) {
        let prefix = format!("{}.", self.id);
        let entries = fs::read_dir(self.work()).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| {
                let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
                name.starts_with(&prefix) && path.is_dir()
            })
            .collect();
        found.sort();
        let found = found.into_iter().map(RunDirectory::new);
        found.partition(|it| it.path().extension().is_some_and(|end| end == DOOMED))
    }

    /// Returns the error of the last attempt.
    pub(super) fn failure(&self) -> Option<String> {
        let text = gleaner_files::read_text(&self.failure_file()).ok()?;
        Some(text.trim_end().to_owned())
    }

    /// Writes the error of an attempt for [`super::gather`]; if that fails too, the point counts as
    /// missing.
    pub(super) fn note_failure(&self, why: &str) {
        let path = self.failure_file();
        if let Some(folder) = path.parent()
            && fs::create_dir_all(folder).is_ok()
        {
            let _ = write_atomically(&path, format!("{why}\n").as_bytes());
        }
    }

    pub(super) fn forget_failure(&self) {
        let path = self.failure_file();
        if fs::remove_file(&path).is_ok()
            && let Some(folder) = path.parent()
        {
            // Removes the folder with its last file.
            let _ = fs::remove_dir(folder);
        }
    }

    fn failure_file(&self) -> PathBuf {
        self.dir.join("failed").join(format!("{}.txt", self.id))
    }
}

/// Removes a folder with its files, if it exists.
///
/// The folder is renamed first: a worker that uses it finds nothing rather than a part of it, and no
/// worker can publish a folder that is being removed.
pub(super) fn remove(directory: &RunDirectory) {
    let mut name = directory.path().as_os_str().to_owned();
    name.push(format!(".{DOOMED}"));
    let doomed = RunDirectory::new(name);
    match fs::rename(directory.path(), doomed.path()) {
        Ok(()) => erase(&doomed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // Some systems rename no folder with open files in it.
        Err(_) => erase(directory),
    }
}

fn erase(directory: &RunDirectory) {
    // A folder that cannot be removed costs space and nothing else.
    let _ = fs::remove_dir_all(directory.path());
}

/// Result of renaming a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renamed {
    Done,
    /// Another folder has the name.
    Occupied,
    /// The folder was removed meanwhile.
    Gone,
}

/// Renames a folder, unless another one has the name.
pub(super) fn rename(from: &RunDirectory, to: &RunDirectory) -> Result<Renamed, FileError> {
    let path = to.path();
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(gleaner_files::at(parent))?;
    }
    match fs::rename(from.path(), path) {
        Ok(()) => {
            gleaner_files::sync_parent(path)?;
            Ok(Renamed::Done)
        }
        Err(error) if is_occupied(&error) => Ok(Renamed::Occupied),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Renamed::Gone),
        Err(error) => Err(gleaner_files::at(path)(error)),
    }
}

fn is_occupied(error: &io::Error) -> bool {
    match error.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => true,
        io::ErrorKind::PermissionDenied => cfg!(windows),
        _ => false,
    }
}
