//! Writing the list of a fleet, which holds keys.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file only its owner may read; whoever reads it sees all of it.
///
/// # Errors
/// Whatever the system refuses.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&temporary)?.write_all(text.as_bytes())?;
    fs::rename(&temporary, path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn nobody_else_may_read_the_keys() {
        let path = std::env::temp_dir().join(format!("gleaner-fleet-{}.toml", std::process::id()));
        write_private(&path, "key").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "key");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::remove_file(&path).unwrap();
    }
}
