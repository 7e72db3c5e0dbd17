//! Files: errors that name the file, reading by lines that cannot fill the memory, writing that
//! leaves the old content or the new, SHA-256 and hexadecimal digits.
#![forbid(unsafe_code)]

mod digest;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

pub use digest::{hexadecimal, sha256, sha256_of};

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

/// Reads a line, with its end if it has one, in the place of what `text` held; `false` when there
/// is no more.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] when the line has more than `longest` bytes, of which no more are
/// read; or whatever the system refuses.
pub fn read_line(
    source: &mut impl BufRead,
    text: &mut Vec<u8>,
    longest: usize,
) -> io::Result<bool> {
    text.clear();
    let mut source = source.take(longest as u64 + 1);
    source.read_until(b'\n', text)?;
    if text.len() > longest {
        let what = format!("longer than {longest} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(!text.is_empty())
}

/// Writes a file by way of a temporary one: whoever reads it sees the old content or the new.
///
/// The temporary file has the same name with the ending `tmp`, so that a crash leaves at most one;
/// it is always a new file, never what a link of that name points to. A disk without room for the
/// new content keeps the old, and nothing else.
///
/// # Errors
/// Names the file.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    put(path, bytes, File::sync_all)?;
    sync_parent(path)
}

/// Writes a file as [`write_atomically`] does, except that a power cut may take it, or its content
/// alone: for what nobody relies on yet.
///
/// # Errors
/// Names the file.
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    put(path, bytes, |_| Ok(()))
}

fn put(path: &Path, bytes: &[u8], sync: impl Fn(&File) -> io::Result<()>) -> Result<(), FileError> {
    let temporary = path.with_extension("tmp");
    let write = || {
        let mut file = create_anew(&temporary)?;
        file.write_all(bytes)?;
        sync(&file)?;
        drop(file);
        fs::rename(&temporary, path)
    };
    write().map_err(|error| {
        // What matters is why it could not be written.
        let _ = fs::remove_file(&temporary);
        at(path)(error)
    })
}

/// Creates a file in the place of whatever has that name: a link there is removed, not followed.
///
/// # Errors
/// Whatever the system refuses.
pub fn create_anew(path: &Path) -> io::Result<File> {
    create_with(&mut OpenOptions::new(), path)
}

/// Creates a file like [`create_anew`] that only its owner may read; elsewhere than on Unix the
/// folder decides.
///
/// # Errors
/// Whatever the system refuses.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    create_with(&mut options, path)
}

fn create_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => options.write(true).create_new(true).open(path),
    }
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

    #[cfg(unix)]
    #[test]
    fn a_private_file_is_its_owners_alone_even_where_an_open_one_or_a_link_was() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("shard"), folder.path().join("other"));
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        for content in [b"one", b"two"] {
            create_private(&path).unwrap().write_all(content).unwrap();
            assert_eq!(fs::read(&path).unwrap(), content);
            let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }
}
