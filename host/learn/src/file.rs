//! Files: errors that name the file, and writing that leaves the old content or the new.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file or folder that the system refuses.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct FileError {
    /// Which one.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Names the path that an error concerns: `fs::read(path).map_err(at(path))`.
pub fn at<P: AsRef<Path>>(path: P) -> impl Fn(io::Error) -> FileError {
    move |source| FileError {
        path: path.as_ref().to_owned(),
        source,
    }
}

/// Writes a file by way of a temporary one: whoever reads it sees the old content or the new.
///
/// The temporary file has the same name with the ending `tmp`, so that a crash leaves at most one;
/// it is always a new file, never what a link of that name points to.
///
/// # Errors
/// Names the file.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let write = || {
        let temporary = path.with_extension("tmp");
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&temporary, path)
    };
    write().map_err(at(path))?;
    sync_parent(path)
}

/// Makes a rename survive a power cut; elsewhere than on Unix directories cannot be opened.
///
/// # Errors
/// Names the renamed file.
pub fn sync_parent(path: &Path) -> Result<(), FileError> {
    if cfg!(unix) {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let folder = File::open(parent.unwrap_or(Path::new("."))).map_err(at(path))?;
        folder.sync_all().map_err(at(path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_file() {
        let error = fs::read("no such file").map_err(at("no such file"));
        let said = error.unwrap_err().to_string();
        assert!(said.starts_with("no such file: "), "{said}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_the_temporary_file_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("model.bin"), folder.path().join("other"));
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("model.tmp")).unwrap();
        write_atomically(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }
}
