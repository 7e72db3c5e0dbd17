//! A run's directory that is gone after the test.

use std::path::PathBuf;

use gleaner_host::run::RunDirectory;

/// A directory among the temporary files, of this process alone.
pub struct Folder(PathBuf);

impl Folder {
    /// Names a vacant directory.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let name = format!("gleaner-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    /// Returns it as the directory of a run.
    #[must_use]
    pub fn run(&self) -> RunDirectory {
        RunDirectory::new(&self.0)
    }

    /// Reads one of its files.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn file(&self, name: &str) -> Vec<u8> {
        let path = self.run().file(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
