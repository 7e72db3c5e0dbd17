//! Checkpoints: the state after a round, with lengths and hashes of the logs at that moment.
//!
//! Layout: 8 bytes magic, 32 bytes SHA-256 of the rest, then the rest in postcard. A new
//! checkpoint replaces the old by two renames, so that at every instant at least one whole
//! checkpoint is on the disk; a damaged one is noticed by its hash and the one before it is used. What it
//! keeps of the clients concerns their data, so only its owner may read it.

use std::fs;
use std::io::{self, Read, Seek};
use std::path::Path;

use gleaner_files::{FileError, open_regular, sha256, sha256_of};
use serde::{Deserialize, Serialize};

use super::directory::RunDirectory;
use super::log::LogPrefixes;
use crate::round::State;

/// Begins the checkpoints of all versions.
const KIND: &[u8] = b"GLNRCKP";
/// Changes whenever the layout does.
const MAGIC: &[u8; 8] = b"GLNRCKP7";
const HEADER: usize = MAGIC.len() + 32;

/// State from which a run is resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// SHA-256 of the scenario the run was started with.
    pub scenario: [u8; 32],
    /// The state of the engine after its last round.
    pub state: State,
    /// The beginnings of the logs that belong to finished rounds.
    pub logs: LogPrefixes,
}

impl Checkpoint {
    /// Writes the checkpoint; the last one becomes the previous one.
    ///
    /// # Errors
    /// Names the file that cannot be written.
    pub fn write(&self, directory: &RunDirectory) -> Result<(), FileError> {
        let newest = directory.file(RunDirectory::CHECKPOINT);
        let previous = directory.file(RunDirectory::PREVIOUS_CHECKPOINT);
        if newest.exists() {
            fs::rename(&newest, &previous).map_err(gleaner_files::at(&previous))?;
            gleaner_files::sync_parent(&previous)?;
        } else {
            // The directory itself may be a draft.
            gleaner_files::sync_parent(directory.path())?;
        }
        gleaner_files::write_private_atomically(&newest, &self.encode())
    }

    /// Reads the newest checkpoint that is whole. `None` means there is none at all; the text
    /// says what was wrong with those passed over.
    #[must_use]
    pub fn read(directory: &RunDirectory) -> (Option<Self>, Vec<String>) {
        let mut complaints = Vec::new();
        for name in [RunDirectory::CHECKPOINT, RunDirectory::PREVIOUS_CHECKPOINT] {
            let path = directory.file(name);
            match Self::read_file(&path) {
                Ok(Ok(checkpoint)) => return (Some(checkpoint), complaints),
                Ok(Err(what)) => complaints.push(format!("{}: {what}", path.display())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => complaints.push(format!("{}: {error}", path.display())),
            }
        }
        (None, complaints)
    }

    /// Tells whether a run has checkpoints and all are of other versions of the program.
    #[must_use]
    pub(super) fn are_foreign(directory: &RunDirectory) -> bool {
        let names = [RunDirectory::CHECKPOINT, RunDirectory::PREVIOUS_CHECKPOINT];
        let heads = names.iter().filter_map(|name| {
            let mut head = Vec::new();
            let file = open_regular(&directory.file(name)).ok()?;
            file.take(MAGIC.len() as u64).read_to_end(&mut head).ok()?;
            Some(head)
        });
        let mut heads = heads.peekable();
        heads.peek().is_some() && heads.all(|head| head.starts_with(KIND) && head != MAGIC)
    }

    /// Reads a checkpoint; the outer error is that of opening and reading, the inner one says what is
    /// wrong with the content. A file that is not what it should be is not read into memory.
    fn read_file(path: &Path) -> io::Result<Result<Self, String>> {
        let mut file = open_regular(path)?;
        let mut head = Vec::new();
        (&file).take(HEADER as u64).read_to_end(&mut head)?;
        if head.len() == HEADER && head.starts_with(MAGIC) {
            if head[MAGIC.len()..] != sha256_of(&file)? {
                return Ok(Err("content does not match its hash".to_owned()));
            }
            file.seek(io::SeekFrom::Start(HEADER as u64))?;
            file.read_to_end(&mut head)?;
        }
        Ok(Self::decode(&head))
    }

    fn encode(&self) -> Vec<u8> {
        // Plain data of known types always serialises.
        let body = postcard::to_allocvec(self).unwrap_or_default();
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&sha256(&body));
        bytes.extend_from_slice(&body);
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() < HEADER {
            return Err(format!(
                "{} bytes are too few for a checkpoint",
                bytes.len()
            ));
        }
        let (head, body) = bytes.split_at(HEADER);
        if &head[..MAGIC.len()] != MAGIC {
            return Err("does not start like a checkpoint of this version".to_owned());
        }
        if head[MAGIC.len()..] != sha256(body) {
            return Err("content does not match its hash".to_owned());
        }
        postcard::from_bytes(body).map_err(|error| format!("cannot be decoded: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_cre::estimate::{Divergence, DivergenceRule};
    use gleaner_files::Prefix;

    fn checkpoint(rounds: u64) -> Checkpoint {
        Checkpoint {
            scenario: [7; 32],
            state: State::new(vec![1.0, -0.5], 2, DivergenceRule::Direction),
            logs: LogPrefixes {
                rounds: Prefix {
                    bytes: rounds,
                    sha256: [9; 32],
                },
                ..LogPrefixes::default()
            },
        }
    }

    #[test]
    fn a_divergence_rule_keeps_its_number_in_checkpoints() {
        use DivergenceRule::{Direction, Paper, Plain};
        for (rule, number) in [(Paper, 0), (Direction, 1), (Plain, 2)] {
            let state = Divergence::new(rule);
            let bytes = postcard::to_allocvec(&state).unwrap();
            assert_eq!(bytes[0], number, "{rule}");
            assert_eq!(postcard::from_bytes::<Divergence>(&bytes).unwrap(), state);
        }
        assert!(postcard::from_bytes::<Divergence>(&[3; 9]).is_err());
    }

    #[test]
    fn the_newest_whole_checkpoint_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        assert_eq!(Checkpoint::read(&directory), (None, Vec::new()));
        checkpoint(1).write(&directory).unwrap();
        checkpoint(2).write(&directory).unwrap();
        assert_eq!(
            Checkpoint::read(&directory),
            (Some(checkpoint(2)), Vec::new())
        );
    }

    #[test]
    fn every_kind_of_damage_falls_back_to_the_previous_one_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        checkpoint(1).write(&directory).unwrap();
        checkpoint(2).write(&directory).unwrap();
        let newest = directory.file(RunDirectory::CHECKPOINT);
        let whole = fs::read(&newest).unwrap();
        let mut damaged: Vec<Vec<u8>> = (0..whole.len()).map(|n| whole[..n].to_vec()).collect();
        damaged.extend((0..whole.len()).map(|n| {
            let mut bytes = whole.clone();
            bytes[n] ^= 0x10;
            bytes
        }));
        for bytes in damaged {
            fs::write(&newest, bytes).unwrap();
            let (found, complaints) = Checkpoint::read(&directory);
            assert_eq!(found, Some(checkpoint(1)));
            assert_eq!(complaints.len(), 1);
            assert!(
                complaints[0].contains(RunDirectory::CHECKPOINT),
                "{complaints:?}"
            );
        }
    }

    #[test]
    fn a_checkpoint_of_another_version_is_told_from_a_damaged_one() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        assert!(!Checkpoint::are_foreign(&directory));
        checkpoint(1).write(&directory).unwrap();
        assert!(!Checkpoint::are_foreign(&directory));
        let newest = directory.file(RunDirectory::CHECKPOINT);
        let mut bytes = fs::read(&newest).unwrap();
        bytes[KIND.len()] = b'6';
        fs::write(&newest, bytes).unwrap();
        assert!(Checkpoint::are_foreign(&directory));
        fs::write(&newest, "anything").unwrap();
        assert!(!Checkpoint::are_foreign(&directory));
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_may_read_a_checkpoint() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        checkpoint(1).write(&directory).unwrap();
        checkpoint(2).write(&directory).unwrap();
        for name in [RunDirectory::CHECKPOINT, RunDirectory::PREVIOUS_CHECKPOINT] {
            let found = fs::metadata(directory.file(name)).unwrap();
            assert_eq!(found.permissions().mode() & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn a_crash_between_the_two_renames_leaves_the_previous_one() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        checkpoint(1).write(&directory).unwrap();
        fs::rename(
            directory.file(RunDirectory::CHECKPOINT),
            directory.file(RunDirectory::PREVIOUS_CHECKPOINT),
        )
        .unwrap();
        assert_eq!(
            Checkpoint::read(&directory),
            (Some(checkpoint(1)), Vec::new())
        );
    }
}
