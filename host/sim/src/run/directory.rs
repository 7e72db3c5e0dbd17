//! The directory of a run: the list of its files, and how far the run in it has come.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::RunError;
use crate::scenario::Scenario;

/// The directory of one run; its constants name everything a run writes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDirectory {
    path: PathBuf,
}

/// Says whether the run of a scenario writes a file.
type IsWritten = fn(&Scenario) -> bool;

impl RunDirectory {
    /// The resolved scenario; with the data it determines everything else.
    pub const SCENARIO: &str = "scenario.toml";
    /// The identifier by which boards tell the run's orders from those of another; only with boards.
    pub const ID: &str = "run-id";
    /// Copy of the channel trace; missing if the gains are drawn.
    pub const CHANNEL: &str = "channel.csv";
    /// Copy of the harvest trace; missing if the source has none.
    pub const HARVEST: &str = "harvest.csv";
    /// The secret of the noise that differential privacy adds; missing if the noise follows from the seed.
    pub const NOISE: &str = "noise.key";
    /// One line per round.
    pub const ROUNDS: &str = "rounds.jsonl";
    /// One row per client and round.
    pub const CLIENTS: &str = "clients.csv";
    /// One row per client and round with its energy by phase; missing under the paper's accounting.
    pub const ENERGY: &str = "energy.csv";
    /// The newest checkpoint: the state after a round, hashed.
    pub const CHECKPOINT: &str = "checkpoint.bin";
    /// The checkpoint before the newest.
    pub const PREVIOUS_CHECKPOINT: &str = "checkpoint.previous.bin";
    /// The final model, as safetensors.
    pub const MODEL: &str = "model.safetensors";
    /// Digests of the reproducible files; its presence means that the run is complete.
    pub const SUMS: &str = "SHA256SUMS";
    /// Machine, version and wall time: what differs between equal runs.
    pub const ENVIRONMENT: &str = "environment.json";
    /// The report; `report::write_run` writes it, the run itself does not.
    pub const REPORT: &str = "report.html";
    /// The folder of the report's plots.
    pub const PLOTS: &str = "plots";
    /// The folder of the rounds in TensorBoard's format, where asked for.
    pub const TENSORBOARD: &str = "tensorboard";
    /// Copy of the measured profile, where the costs come from one.
    pub const PROFILE: &str = "profile.toml";
    /// The fleet file; only with boards.
    pub const FLEET: &str = "fleet.toml";
    /// The event log; only with boards.
    pub const EVENTS: &str = "events.jsonl";
    /// The folder with the shards of emulated boards.
    pub const SHARDS: &str = "shards";
    /// The folder of updates that cannot be replayed; only with boards.
    pub const UPDATES: &str = "updates";
    /// Counts of incoming connections in the last session; only with boards that call in.
    pub const CALLS: &str = "calls.json";
    /// Energy that the boards booked beside the model's, and the exit code; only with boards.
    pub const BOARDS: &str = "boards.json";
    pub(super) const STAGED_SCENARIO: &str = "scenario.tmp";
    pub(super) const STAGED_CHANNEL: &str = "channel.tmp";
    pub(super) const STAGED_HARVEST: &str = "harvest.tmp";
    pub(super) const STAGED_NOISE: &str = "noise.tmp";

    /// Files that a crash leaves before there is a run.
    const STAGED: [&str; 4] = [
        Self::STAGED_SCENARIO,
        Self::STAGED_CHANNEL,
        Self::STAGED_HARVEST,
        Self::STAGED_NOISE,
    ];

    /// The reproducible files, in the order of `SHA256SUMS`.
    const REPRODUCIBLE: [(&str, IsWritten); 7] = [
        (Self::SCENARIO, |_| true),
        (Self::CHANNEL, |scenario| !scenario.channel.trace.is_empty()),
        (Self::HARVEST, |scenario| scenario.harvest.source.has_file()),
        (Self::ROUNDS, |_| true),
        (Self::CLIENTS, |_| true),
        (Self::ENERGY, |scenario| !scenario.keeps_papers_books()),
        (Self::MODEL, |_| true),
    ];

    /// Files that equal runs may have with different content, or not at all.
    const OTHERS: [&str; 12] = [
        Self::ID,
        Self::NOISE,
        Self::CHECKPOINT,
        Self::PREVIOUS_CHECKPOINT,
        Self::SUMS,
        Self::ENVIRONMENT,
        Self::REPORT,
        Self::PROFILE,
        Self::FLEET,
        Self::EVENTS,
        Self::CALLS,
        Self::BOARDS,
    ];

    const FOLDERS: [&str; 4] = [Self::PLOTS, Self::TENSORBOARD, Self::SHARDS, Self::UPDATES];

    /// Names a directory; nothing is created.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the directory itself.
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

    /// Says whether the directory is missing, empty, or holds only what a crash leaves before there
    /// is a run.
    #[must_use]
    pub fn is_vacant(&self) -> bool {
        fs::read_dir(&self.path).map_or(true, |entries| {
            let mut names = entries.flatten().map(|entry| entry.file_name());
            names.all(|name| Self::STAGED.iter().any(|staged| name == *staged))
        })
    }

    /// Makes sure that a run can be created here.
    ///
    /// # Errors
    /// [`RunError::Occupied`] if the directory is not [vacant](Self::is_vacant).
    pub fn check_vacant(&self) -> Result<(), RunError> {
        let path = self.path.clone();
        let occupied = (!self.is_vacant()).then_some(RunError::Occupied { path });
        occupied.map_or(Ok(()), Err)
    }

    /// Returns the names of the reproducible files of a scenario's run, the model last.
    pub(super) fn reproducible(scenario: &Scenario) -> impl Iterator<Item = &'static str> {
        let files = Self::REPRODUCIBLE.into_iter();
        files.filter_map(move |(name, is_written)| is_written(scenario).then_some(name))
    }

    /// Removes every file and folder of a run, and the directory if it is then empty and `created`
    /// says that it was new. Whatever cannot be removed is left.
    pub(super) fn clear(&self, created: bool) {
        for name in Self::FOLDERS {
            let _ = fs::remove_dir_all(self.file(name));
        }
        let reproducible = Self::REPRODUCIBLE.map(|(name, _)| name);
        let files = [&reproducible[..], &Self::OTHERS, &Self::STAGED];
        for name in files.concat() {
            let _ = fs::remove_file(self.file(name));
        }
        if created {
            let _ = fs::remove_dir(&self.path);
        }
    }
}
