//! Updates stored because they cannot be replayed: a client with its own arithmetic cannot be
//! recomputed, so its updates are stored beside the log for the replay. An update tells about its
//! client's data, so only the owner of the run may read them.

use gleaner_sim::ClientId;
use gleaner_sim::run::RunDirectory;
use std::io;
use std::path::{Path, PathBuf};

use gleaner_files::FileError;
use serde::{Deserialize, Serialize};

/// Name of the folder in a run's directory.
pub const UPDATES: &str = RunDirectory::UPDATES;

/// Most bytes of a stored update; a board's flash holds far fewer.
const LARGEST: u64 = 64 << 20;

/// The update of a client for one order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredUpdate {
    /// Mean loss before training, in units of 2^-16.
    pub loss_before_q16: u32,
    /// Mean loss after training, in units of 2^-16.
    pub loss_after_q16: u32,
    /// The update in the code of the uplink.
    pub bytes: Vec<u8>,
}

/// The stored updates of a run.
#[derive(Clone, Debug)]
pub struct StoredUpdates {
    folder: PathBuf,
}

impl StoredUpdates {
    /// Returns the updates in the directory of a run; the folder is created with the first one.
    #[must_use]
    pub fn of(run: &Path) -> Self {
        Self {
            folder: run.join(UPDATES),
        }
    }

    /// Stores a client's update of a round, and replaces one from before a crash.
    ///
    /// # Errors
    /// Names the file.
    pub fn write(
        &self,
        round: u32,
        client: ClientId,
        update: &StoredUpdate,
    ) -> Result<(), FileError> {
        gleaner_files::create_private_folder(&self.folder)?;
        let path = self.path(round, client);
        let bytes = postcard::to_allocvec(update)
            .map_err(io::Error::other)
            .map_err(gleaner_files::at(&path))?;
        gleaner_files::write_private_atomically(&path, &bytes)
    }

    /// Reads a client's update of a round.
    ///
    /// # Errors
    /// Names the missing or damaged file.
    pub fn read(&self, round: u32, client: ClientId) -> Result<StoredUpdate, FileError> {
        let path = self.path(round, client);
        let bytes =
            gleaner_files::read_at_most(&path, LARGEST).map_err(gleaner_files::at(&path))?;
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
    use std::fs;

    use super::*;

    #[test]
    fn a_stored_update_is_read_and_a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let stored = StoredUpdates::of(folder.path());
        let update = |byte| StoredUpdate {
            loss_before_q16: 3,
            loss_after_q16: 2,
            bytes: vec![byte; 20],
        };
        stored.write(7, ClientId(2), &update(1)).unwrap();
        stored.write(7, ClientId(2), &update(9)).unwrap();
        assert_eq!(stored.read(7, ClientId(2)).unwrap(), update(9));
        assert!(stored.read(7, ClientId(3)).is_err());
        #[cfg(unix)]
        for (path, expected) in [
            (stored.folder.clone(), 0o700),
            (stored.path(7, ClientId(2)), 0o600),
        ] {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, expected, "{}", path.display());
        }
        fs::write(stored.path(7, ClientId(2)), [1]).unwrap();
        let error = stored.read(7, ClientId(2)).unwrap_err().to_string();
        assert!(error.contains("round-00007-client-2.bin"), "{error}");
    }
}
