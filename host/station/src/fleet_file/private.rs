//! Writing files that hold keys: the list of a fleet, and shards.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes a file only its owner may read; whoever reads it sees all of it, and a power cut leaves
/// the old one or the new one. A link of that name is replaced, not followed.
///
/// # Errors
/// Whatever the system refuses.
pub fn write_private(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // Such a file is its owner's alone from the start.
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(content.as_ref())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // Its name is on the disk only with its folder; systems that do not open folders do that
    // themselves.
    match File::open(folder) {
        Ok(folder) => folder.sync_all(),
        Err(_) => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn nobody_else_may_read_the_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fleet.toml");
        write_private(&path, "key").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "key");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_link_in_the_place_of_the_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("shard.bin"), folder.path().join("other"));
        fs::write(&other, "mine").unwrap();
        symlink(&other, &path).unwrap();
        write_private(&path, b"key").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"key");
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }
}
