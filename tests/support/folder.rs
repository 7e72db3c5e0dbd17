//! A run's directory that is gone after the test, and what its log tells.

use gleaner_sim::run::RunDirectory;
use gleaner_station::event::Event;
use gleaner_station::log::{EVENTS, Line, each_line};
use tempfile::TempDir;

/// A vacant directory among the temporary files.
pub struct Folder(TempDir);

impl Folder {
    /// Makes a directory with a word about its purpose in its name.
    ///
    /// # Panics
    /// When there is no room for temporary files.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix(&format!("gleaner-{name}-"))
            .tempdir();
        Self(folder.expect("a folder for temporary files"))
    }

    /// Returns it as the directory of a run.
    #[must_use]
    pub fn run(&self) -> RunDirectory {
        RunDirectory::new(self.0.path())
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

/// Reads what happened in a run of boards.
///
/// # Panics
/// When its log cannot be read.
pub fn events(directory: &RunDirectory) -> impl Iterator<Item = Event> + use<> {
    let lines = each_line(&directory.file(EVENTS)).expect("an event log");
    lines.filter_map(|line| match line.expect("a line of the event log") {
        Line::Event { event, .. } => Some(event),
        Line::Session { .. } => None,
    })
}
