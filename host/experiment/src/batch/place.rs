//! Where a point's files are.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gleaner_files::{FileError, write_atomically};

use gleaner_sim::run::{RunDirectory, new_id};

/// How the name of a folder ends that is being removed.
const DOOMED: &str = "gone";

/// The files of one point.
pub(super) struct Place<'a> {
    dir: &'a Path,
    id: &'a str,
}

impl<'a> Place<'a> {
    pub(super) fn new(dir: &'a Path, id: &'a str) -> Self {
        Self { dir, id }
    }

    /// The run, once it is complete.
    pub(super) fn run(&self) -> RunDirectory {
        RunDirectory::new(self.dir.join("points").join(self.id))
    }

    pub(super) fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// The file whose lock says that a worker is at the point.
    pub(super) fn lock(&self) -> PathBuf {
        self.work().join(format!("{}.lock", self.id))
    }

    /// A folder that no other worker has.
    pub(super) fn fresh(&self) -> Result<RunDirectory, FileError> {
        let work = self.work();
        fs::create_dir_all(&work).map_err(gleaner_files::at(&work))?;
        let id = new_id().map_err(gleaner_files::at(&work))?.to_string();
        Ok(RunDirectory::new(work.join(format!("{}.{id}", self.id))))
    }

    /// What workers are at, or left when they died.
    pub(super) fn leftovers(&self) -> Vec<RunDirectory> {
        let (_, found) = self.folders();
        found
    }

    /// Removes what workers left, and what those at work here have, except for one of them.
    pub(super) fn sweep(&self, own: Option<&RunDirectory>) {
        let (doomed, left) = self.folders();
        let others = left.iter().filter(|it| Some(*it) != own);
        others.for_each(remove);
        // Whoever was removing them may have died over it.
        doomed.iter().for_each(erase);
    }

    /// The folders of this point that are being removed, and the others.
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

    /// Why the last attempt failed, if it did.
    pub(super) fn failure(&self) -> Option<String> {
        let text = fs::read_to_string(self.failure_file()).ok()?;
        Some(text.trim_end().to_owned())
    }

    /// Keeps why an attempt failed for whoever gathers; where that cannot be written either, the
    /// point is merely missing.
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
            // Gone with its last file.
            let _ = fs::remove_dir(folder);
        }
    }

    fn failure_file(&self) -> PathBuf {
        self.dir.join("failed").join(format!("{}.txt", self.id))
    }
}

/// Removes a folder with all that is in it; one that is gone already is fine.
///
/// It loses its name first, all at once: a worker that is at it finds nothing rather than a part of
/// it, and nobody can give the point's name to a folder whose files are going.
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
    // What is left costs space and nothing else.
    let _ = fs::remove_dir_all(directory.path());
}

/// What came of giving a folder another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renamed {
    /// It has the name.
    Done,
    /// Something else has the name.
    Occupied,
    /// There is no such folder any more.
    Gone,
}

/// Gives a folder another name, unless something has it.
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
