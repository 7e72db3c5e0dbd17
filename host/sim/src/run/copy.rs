//! A file that a scenario names, in the run's own directory: copied there before the first round,
//! so that resuming and verifying take the copy, whatever became of the original.

use std::fs;
use std::io::Write;

use super::directory::RunDirectory;
use gleaner_files::{FileError, sync_parent};

/// The names of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    /// For good.
    pub(super) name: &'static str,
    /// Before the scenario stands beside it.
    pub(super) staged: &'static str,
}

impl Copy {
    /// Puts the content into a directory that is still to become that of a run.
    pub(super) fn stage(&self, content: &[u8], directory: &RunDirectory) -> Result<(), FileError> {
        let file = directory.file(self.staged);
        let write = || {
            let mut staged = gleaner_files::create_anew(&file)?;
            staged.write_all(content)?;
            staged.sync_all()
        };
        write().map_err(gleaner_files::at(&file))
    }

    /// Gives the staged copy its name, once the scenario stands beside it.
    pub(super) fn settle(&self, directory: &RunDirectory) -> Result<(), FileError> {
        let staged = directory.file(self.staged);
        let copy = directory.file(self.name);
        fs::rename(&staged, &copy).map_err(gleaner_files::at(&copy))?;
        sync_parent(&copy)
    }

    /// Reads the copy.
    pub(super) fn read(&self, directory: &RunDirectory) -> Result<Vec<u8>, FileError> {
        let copy = directory.file(self.name);
        // A crash may have come between the scenario and the last name of the copy.
        if !copy.exists() && directory.file(self.staged).exists() {
            self.settle(directory)?;
        }
        fs::read(&copy).map_err(gleaner_files::at(&copy))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_place_of_a_staged_copy_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "mine").unwrap();
        let directory = RunDirectory::new(folder.path().join("run"));
        fs::create_dir(directory.path()).unwrap();
        let copy = Copy {
            name: "copy.csv",
            staged: "copy.tmp",
        };
        let staged = directory.file(copy.staged);
        std::os::unix::fs::symlink(&other, &staged).unwrap();
        copy.stage(b"gains", &directory).unwrap();
        assert_eq!(fs::read(&staged).unwrap(), b"gains");
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }
}
