//! What the file is called, and was called before.

use std::path::{Path, PathBuf};

/// The file's name where nobody chose another, and in the directory of a run.
pub const FILE_NAME: &str = "fleet.toml";
/// Its name before, under which it is found for one version more.
pub const OLD_FILE_NAME: &str = "bench.toml";

/// Returns where the file of a folder is, or should be: under its old name only if no file has
/// the new one.
#[must_use]
pub fn find_in(folder: &Path) -> PathBuf {
    let [new, old] = [FILE_NAME, OLD_FILE_NAME].map(|name| folder.join(name));
    if old.is_file() && !new.is_file() {
        old
    } else {
        new
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_old_name_is_found_until_there_is_a_file_of_the_new_one() {
        let folder = std::env::temp_dir().join(format!("gleaner-names-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (new, old) = (folder.join("fleet.toml"), folder.join("bench.toml"));
        assert_eq!(find_in(&folder), new, "neither is there");
        fs::write(&old, "").unwrap();
        assert_eq!(find_in(&folder), old);
        fs::write(&new, "").unwrap();
        assert_eq!(find_in(&folder), new);
        fs::remove_dir_all(&folder).unwrap();
    }
}
