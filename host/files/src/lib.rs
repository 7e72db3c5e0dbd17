//! Files: errors that name the file, reads of bounded size, atomic and private writes, SHA-256 and
//! hexadecimal; escaping of text that others wrote.
//!
//! ```
//! use gleaner_files::{hexadecimal, sha256, write_atomically};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("model.bin");
//! write_atomically(&path, b"abc")?;
//! let bytes = std::fs::read(&path).map_err(gleaner_files::at(&path))?;
//! assert!(hexadecimal(&sha256(&bytes)).starts_with("ba7816bf"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod bounded;
mod digest;
mod private;
mod text;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use bounded::{BoundedLines, TEXT_MAX, open_regular, read_at_most, read_line, read_text};
pub use digest::{GrowingHash, Prefix, hexadecimal, sha256, sha256_of};
pub use private::{create_private, create_private_folder, make_private, write_private_atomically};
pub use text::{is_interpreted, printable, printable_json, printable_lines};

/// An error of the operating system, with the file or folder it concerns.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", printable(&path.to_string_lossy()))]
pub struct FileError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// Adds the path to an error: `fs::read(path).map_err(at(path))`.
pub fn at<P: AsRef<Path>>(path: P) -> impl Fn(io::Error) -> FileError {
    move |source| FileError {
        path: path.as_ref().to_owned(),
        source,
    }
}

/// Writes a file by way of a temporary one, so that readers see either the old content or the new.
///
/// The temporary file has the same name with the ending `tmp`, so that a crash leaves at most one. It is
/// always a new file: a link of that name is not followed. If the disk is full, the old content stays
/// and the temporary file is removed.
///
/// # Errors
/// Names the file.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    put(path, bytes, create_anew, File::sync_all)?;
    sync_parent(path)
}

/// Writes a file as [`write_atomically`] does but without syncing: after a power cut it may be missing
/// or empty.
///
/// # Errors
/// Names the file.
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    put(path, bytes, create_anew, |_| Ok(()))
}

fn put(
    path: &Path,
    bytes: &[u8],
    create: impl Fn(&Path) -> io::Result<File>,
    sync: impl Fn(&File) -> io::Result<()>,
) -> Result<(), FileError> {
    let temporary = path.with_extension("tmp");
    let write = || {
        let mut file = create(&temporary)?;
        file.write_all(bytes)?;
        sync(&file)?;
        drop(file);
        fs::rename(&temporary, path)
    };
    write().map_err(|error| {
        // The first error is reported, not one of cleaning up.
        let _ = fs::remove_file(&temporary);
        at(path)(error)
    })
}

/// Creates a file and replaces an existing one; a link of that name is removed, not followed.
///
/// # Errors
/// When the existing file cannot be removed or the new one not created.
pub fn create_anew(path: &Path) -> io::Result<File> {
    create_with(&mut OpenOptions::new(), path)
}

fn create_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => options.write(true).create_new(true).open(path),
    }
}

/// Syncs the folder of a renamed file, so that the rename survives a power cut. Does nothing on other
/// systems than Unix, where folders cannot be opened.
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
        assert_eq!(error.unwrap_err().path, Path::new("no such file"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_with_the_name_of_the_temporary_file_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("model.bin"), folder.path().join("other"));
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("model.tmp")).unwrap();
        write_atomically(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }
}
