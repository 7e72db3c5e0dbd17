//! Updates that nobody can recompute: a client in an arithmetic of its own is taken at its word, so
//! what it sent is kept beside the log, and a replay goes on with that.

use gleaner_sim::ClientId;
use gleaner_sim::run::RunDirectory;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gleaner_files::FileError;
use serde::{Deserialize, Serialize};

/// The folder in a run's directory.
pub const UPDATES: &str = RunDirectory::UPDATES;

/// What a client sent for one order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptUpdate {
    /// Mean loss before training, times 2^16.
    pub loss_before_q16: u32,
    /// Mean loss after training, times 2^16.
    pub loss_after_q16: u32,
    /// The update, coded as it came.
    pub bytes: Vec<u8>,
}

/// The kept updates of a run.
#[derive(Clone, Debug)]
pub struct KeptUpdates {
    folder: PathBuf,
}

impl KeptUpdates {
    /// Those in the directory of a run; nothing is created before there is one to keep.
    #[must_use]
    pub fn of(run: &Path) -> Self {
        Self {
            folder: run.join(UPDATES),
        }
    }

    /// Keeps what a client sent in a round, in the place of what it sent before a crash.
    ///
    /// # Errors
    /// Names the file.
    pub fn keep(&self, round: u32, client: ClientId, update: &KeptUpdate) -> Result<(), FileError> {
        fs::create_dir_all(&self.folder).map_err(gleaner_files::at(&self.folder))?;
        let path = self.path(round, client);
        let bytes = postcard::to_allocvec(update)
            .map_err(io::Error::other)
            .map_err(gleaner_files::at(&path))?;
        gleaner_files::write_atomically(&path, &bytes)
    }

    /// Returns what a client sent in a round.
    ///
    /// # Errors
    /// Names the file: it is gone, or holds something else.
    pub fn read(&self, round: u32, client: ClientId) -> Result<KeptUpdate, FileError> {
        let path = self.path(round, client);
        let bytes = fs::read(&path).map_err(gleaner_files::at(&path))?;
        let damaged = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        postcard::from_bytes(&bytes)
            .map_err(damaged)
            .map_err(gleaner_files::at(&path))
    }

    fn path(&self, round: u32, client: ClientId) -> PathBuf {
        self.folder
            .join(format!("round-{round:05}-client-{client}.bin"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptUpdates::of(folder.path());
        let update = |byte| KeptUpdate {
            loss_before_q16: 3,
            loss_after_q16: 2,
            bytes: vec![byte; 20],
        };
        kept.keep(7, ClientId(2), &update(1)).unwrap();
        kept.keep(7, ClientId(2), &update(9)).unwrap();
        assert_eq!(kept.read(7, ClientId(2)).unwrap(), update(9));
        assert!(kept.read(7, ClientId(3)).is_err());
        fs::write(kept.path(7, ClientId(2)), [1]).unwrap();
        let said = kept.read(7, ClientId(2)).unwrap_err().to_string();
        assert!(said.contains("round-00007-client-2.bin"), "{said}");
    }
}
