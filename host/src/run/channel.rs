//! The channel of a run in its directory: a trace is copied there before the first round, and
//! resuming and verifying take the copy, whatever became of the original.

use std::fs;
use std::io::Write;

use super::directory::RunDirectory;
use super::error::RunError;
use crate::round::channel;
use crate::scenario::Scenario;
use gleaner_cre::channel::{ChannelSource, TraceError};
use gleaner_learn::digest::sha256;
use gleaner_learn::file::{self, sync_parent};

/// Returns the gains of the run in a directory.
///
/// # Errors
/// Names the copy of the trace and what is wrong with it.
pub fn channel_of(
    scenario: &Scenario,
    directory: &RunDirectory,
) -> Result<ChannelSource, RunError> {
    match kept_trace(scenario, directory)? {
        None => Ok(channel::of(scenario)?),
        Some(trace) => {
            let copy = directory.file(RunDirectory::CHANNEL);
            let name = copy.display().to_string();
            Ok(channel::traced(scenario, &name, &trace[..])?)
        }
    }
}

/// Returns what a checkpoint knows its run by: the hash of the scenario and of the trace, if any.
pub(super) fn fingerprint(
    scenario: &Scenario,
    directory: &RunDirectory,
) -> Result<[u8; 32], RunError> {
    let mut content = scenario.to_toml().into_bytes();
    content.extend(kept_trace(scenario, directory)?.unwrap_or_default());
    Ok(sha256(&content))
}

/// Reads the trace of a scenario and checks that it covers the run; `None` if gains are drawn.
pub fn checked_trace(scenario: &Scenario) -> Result<Option<Vec<u8>>, RunError> {
    let trace = trace_of(scenario)?;
    if let Some(trace) = &trace {
        channel::traced(scenario, &scenario.channel.trace, &trace[..])?;
    }
    Ok(trace)
}

/// Says whether the run in a directory was started with the trace that its scenario names now.
pub fn is_unchanged(scenario: &Scenario, directory: &RunDirectory) -> Result<bool, RunError> {
    Ok(trace_of(scenario)? == kept_trace(scenario, directory)?)
}

/// Puts a trace into a directory that is still to become that of a run.
pub(super) fn stage(trace: &[u8], directory: &RunDirectory) -> Result<(), RunError> {
    let file = directory.file(RunDirectory::STAGED_CHANNEL);
    let write = || {
        let mut staged = file::create_anew(&file)?;
        staged.write_all(trace)?;
        staged.sync_all()
    };
    Ok(write().map_err(file::at(&file))?)
}

/// Gives a staged trace its name, once the scenario stands beside it.
pub(super) fn settle(directory: &RunDirectory) -> Result<(), RunError> {
    let staged = directory.file(RunDirectory::STAGED_CHANNEL);
    let copy = directory.file(RunDirectory::CHANNEL);
    fs::rename(&staged, &copy).map_err(file::at(&copy))?;
    Ok(sync_parent(&copy)?)
}

fn trace_of(scenario: &Scenario) -> Result<Option<Vec<u8>>, RunError> {
    let path = &scenario.channel.trace;
    if path.is_empty() {
        return Ok(None);
    }
    let name = path.clone();
    let trace = fs::read(path).map_err(|source| TraceError::Read { name, source })?;
    Ok(Some(trace))
}

fn kept_trace(scenario: &Scenario, directory: &RunDirectory) -> Result<Option<Vec<u8>>, RunError> {
    if scenario.channel.trace.is_empty() {
        return Ok(None);
    }
    let copy = directory.file(RunDirectory::CHANNEL);
    // A crash may have come between the scenario and the last name of the copy.
    if !copy.exists() && directory.file(RunDirectory::STAGED_CHANNEL).exists() {
        settle(directory)?;
    }
    let trace = fs::read(&copy).map_err(file::at(&copy))?;
    Ok(Some(trace))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_place_of_a_staged_trace_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "mine").unwrap();
        let directory = RunDirectory::new(folder.path().join("run"));
        fs::create_dir(directory.path()).unwrap();
        let staged = directory.file(RunDirectory::STAGED_CHANNEL);
        std::os::unix::fs::symlink(&other, &staged).unwrap();
        stage(b"gains", &directory).unwrap();
        assert_eq!(fs::read(&staged).unwrap(), b"gains");
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }
}
