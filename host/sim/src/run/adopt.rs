//! Going on from what another process left: a run in one directory continues from a checkpoint in
//! another, which is only read.
//!
//! Whoever wrote the other directory may be dead, or may be writing still: a checkpoint is whole or
//! is not taken, and the bytes of the logs before it do not change any more.

use std::fs::File;
use std::io::{self, Read};

use gleaner_files::{FileError, write_atomically};

use super::checkpoint::Checkpoint;
use super::directory::RunDirectory;
use super::error::RunError;
use super::execute::is_of;
use crate::scenario::Scenario;

/// Copies the newest whole checkpoint of the same scenario and traces among `others`, with its logs,
/// into a prepared directory that has none; returns the round it was written after.
///
/// What cannot be read is passed over, for a run can always begin anew.
///
/// # Errors
/// Names the file that cannot be written.
pub fn adopt(
    scenario: &Scenario,
    directory: &RunDirectory,
    others: &[RunDirectory],
) -> Result<Option<u32>, RunError> {
    let mut found: Vec<(Checkpoint, &RunDirectory)> = Vec::new();
    for other in others {
        if let (Some(checkpoint), _) = Checkpoint::read(other)
            && is_of(&checkpoint, scenario, directory)?
        {
            found.push((checkpoint, other));
        }
    }
    found.sort_by_key(|(checkpoint, _)| std::cmp::Reverse(checkpoint.state.round()));
    for (checkpoint, other) in found {
        if copy_logs(&checkpoint, other, directory)? {
            checkpoint.write(directory)?;
            return Ok(Some(checkpoint.state.round()));
        }
    }
    Ok(None)
}

/// Copies what a checkpoint knows of the logs; `false` if they are not all there.
fn copy_logs(
    checkpoint: &Checkpoint,
    from: &RunDirectory,
    into: &RunDirectory,
) -> Result<bool, FileError> {
    let lengths = checkpoint.logs;
    for (name, bytes) in [
        (RunDirectory::ROUNDS, lengths.rounds),
        (RunDirectory::CLIENTS, lengths.clients),
        (RunDirectory::ENERGY, lengths.energy),
    ] {
        if bytes == 0 {
            continue;
        }
        let Ok(content) = beginning(from, name, bytes) else {
            return Ok(false);
        };
        write_atomically(&into.file(name), &content)?;
    }
    Ok(true)
}

fn beginning(directory: &RunDirectory, name: &str, bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let file = File::open(directory.file(name))?;
    file.take(bytes).read_to_end(&mut content)?;
    if content.len() as u64 == bytes {
        return Ok(content);
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
