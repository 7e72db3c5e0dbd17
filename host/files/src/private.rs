//! Files and folders that only their owner may read: keys, shards, and the updates of clients. On other
//! systems than Unix they have the permissions of the folder they stand in.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

use super::{FileError, at, create_with, put, sync_parent};

/// Makes options create files that only their owner may read; an existing file keeps its permissions.
pub fn make_private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Creates a file like [`create_anew`](super::create_anew) that only its owner may read.
///
/// # Errors
/// As [`create_anew`](super::create_anew).
pub fn create_private(path: &Path) -> io::Result<File> {
    create_with(make_private(&mut OpenOptions::new()), path)
}

/// Writes a file as [`write_atomically`](super::write_atomically) does; only its owner may read it, and
/// the temporary file too.
///
/// # Errors
/// Names the file.
pub fn write_private_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    put(path, bytes, create_private, File::sync_all)?;
    sync_parent(path)
}

/// Creates a folder that only its owner may enter, and closes one that exists to others.
///
/// # Errors
/// Names the folder.
pub fn create_private_folder(path: &Path) -> Result<(), FileError> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {
            close(path).map_err(at(path))
        }
        created => created.map_err(at(path)),
    }
}

#[cfg(unix)]
fn close(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let mode = fs::metadata(folder)?.permissions().mode();
    match mode & 0o077 {
        0 => Ok(()),
        _ => fs::set_permissions(folder, fs::Permissions::from_mode(0o700)),
    }
}

#[cfg(not(unix))]
fn close(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_private_file_replaces_open_files_and_links_and_only_its_owner_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("shard"), folder.path().join("other"));
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        for content in [b"one", b"two"] {
            create_private(&path).unwrap().write_all(content).unwrap();
            assert_eq!(fs::read(&path).unwrap(), content);
            assert_eq!(mode(&path), 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }

    #[test]
    fn an_atomic_private_file_replaces_one_that_everybody_may_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("update.bin");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write_private_atomically(&path, b"new").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), mode(&path)),
            (b"new".to_vec(), 0o600)
        );
    }

    #[test]
    fn a_private_folder_is_closed_to_others_also_if_it_was_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("updates");
        for _ in 0..2 {
            create_private_folder(&path).unwrap();
            assert_eq!(mode(&path), 0o700);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(create_private_folder(&file).unwrap_err().path, file);
    }
}
