//! Writing the list of a fleet, which holds keys.

use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes a file only its owner may read; whoever reads it sees all of it.
///
/// # Errors
/// Whatever the system refuses.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    // Such a file is its owner's alone from the start.
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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
}
