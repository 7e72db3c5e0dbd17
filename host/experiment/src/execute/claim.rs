//! The claim on a point: a lock that ends with the process that holds it.
//!
//! Claims save work; correctness does not depend on them (see the [module](super)).

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use gleaner_files::FileError;

/// Retries when the folder is removed between its creation and the opening of the file.
const TRIES: u32 = 100;

/// Right of this process to execute a point.
pub(super) struct Claim {
    path: PathBuf,
    file: File,
    locked: bool,
}

/// Answer to a request for a claim.
pub(super) enum Asked {
    Granted(Claim),
    /// Another process has the claim; the text names the process.
    Refused(String),
}

impl Claim {
    /// Asks for the claim of a lock file; a `forced` claim is always granted.
    pub(super) fn ask(path: PathBuf, forced: bool) -> Result<Asked, FileError> {
        let mut file = open(&path)?;
        let locked = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) if !forced => {
                return Ok(Asked::Refused(owner(&mut file)));
            }
            // A file system without locks, or a forced claim.
            Err(_) => false,
        };
        if locked {
            // The owner's name is only for messages.
            let _ = file.set_len(0);
            let _ = file.write_all(here().as_bytes());
        }
        Ok(Asked::Granted(Self { path, file, locked }))
    }

    /// Tells whether this process holds the lock.
    pub(super) fn is_exclusive(&self) -> bool {
        self.locked
    }

    /// Removes the lock file of a completed point.
    pub(super) fn close(self) {
        // A worker that has the file open finds the point complete.
        let _ = fs::remove_file(&self.path);
        drop(self.file);
        let _ = fs::remove_dir(self.path.parent().unwrap_or(Path::new("")));
    }
}

/// Opens a lock file, whose folder another worker may remove while it is empty.
fn open(path: &Path) -> Result<File, FileError> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    let mut tries = 0..TRIES;
    loop {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(gleaner_files::at(folder))?;
        }
        match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries.next().is_some() => {}
            opened => return opened.map_err(gleaner_files::at(path)),
        }
    }
}

fn owner(file: &mut File) -> String {
    let mut text = String::new();
    let read = Read::by_ref(file).take(200).read_to_string(&mut text);
    match read {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}

/// Returns the name of this process for messages.
fn here() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok());
    let name = name.as_deref().map_or("this machine", str::trim);
    format!("process {} on {name}\n", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(path: &Path, forced: bool) -> Asked {
        Claim::ask(path.to_owned(), forced).unwrap()
    }

    #[test]
    fn a_claim_is_exclusive_until_it_ends_and_names_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("work/point.lock");
        let Asked::Granted(first) = ask(&path, false) else {
            panic!("refused the first");
        };
        let Asked::Refused(owner) = ask(&path, false) else {
            panic!("granted twice");
        };
        assert!(owner.starts_with(&format!("process {} on", std::process::id())));
        let Asked::Granted(forced) = ask(&path, true) else {
            panic!("refused by force");
        };
        assert!(first.is_exclusive() && !forced.is_exclusive());
        drop(first);
        assert!(matches!(ask(&path, false), Asked::Granted(_)));
    }

    #[test]
    fn the_lock_file_of_a_dead_worker_blocks_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("work/point.lock");
        fs::create_dir(folder.path().join("work")).unwrap();
        fs::write(&path, "process 1 on another machine\n").unwrap();
        let Asked::Granted(claim) = ask(&path, false) else {
            panic!("refused");
        };
        claim.close();
        assert!(!path.parent().unwrap().exists());
    }
}
