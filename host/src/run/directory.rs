//! The files of a run, and writing them so that a crash leaves the old or the new, never half.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The directory of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Names a directory; nothing is created.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of one of its files.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Says whether a run was started here.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.file(Self::SCENARIO).is_file()
    }

    /// Says whether the run here is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.file(Self::SUMS).is_file()
    }

    /// Says whether there is nothing, or only what a crash leaves before there is a run.
    #[must_use]
    pub fn is_vacant(&self) -> bool {
        let leftover = Path::new(Self::SCENARIO).with_extension("tmp");
        fs::read_dir(&self.path).map_or(true, |entries| {
            let mut names = entries.flatten().map(|entry| entry.file_name());
            names.all(|name| name == *leftover || name == Self::STAGED_CHANNEL)
        })
    }

    /// The resolved scenario.
    pub const SCENARIO: &str = "scenario.toml";
    /// The copy of the trace, where gains are not drawn.
    pub const CHANNEL: &str = "channel.csv";
    /// That copy before the scenario stands beside it.
    pub(super) const STAGED_CHANNEL: &str = "channel.tmp";
    /// One line per round.
    pub const ROUNDS: &str = "rounds.jsonl";
    /// One row per client and round.
    pub const CLIENTS: &str = "clients.csv";
    /// The newest checkpoint.
    pub const CHECKPOINT: &str = "checkpoint.bin";
    /// The checkpoint before it.
    pub const PREVIOUS_CHECKPOINT: &str = "checkpoint.previous.bin";
    /// The final model.
    pub const MODEL: &str = "model.safetensors";
    /// Digests of the reproducible files.
    pub const SUMS: &str = "SHA256SUMS";
    /// What differs between equal runs.
    pub const ENVIRONMENT: &str = "environment.json";
    /// The report.
    pub const REPORT: &str = "report.html";
    /// The folder of the plots.
    pub const PLOTS: &str = "plots";
}

/// Writes a file by way of a temporary one: whoever reads it sees the old content or the new.
///
/// # Errors
/// Whatever the system refuses.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&temporary, path)?;
    sync_parent(path)
}

/// Makes a rename survive a power cut; elsewhere than on Unix directories cannot be opened.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
