//! The gains of a run as a trace of its own, which another run can read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::RunError;
use crate::round::{EnvironmentError, environment};
use crate::scenario::Scenario;
use gleaner_cre::channel::{ChannelSource, Recorder};
use gleaner_files::{at, create_anew, sync_parent};

/// Writes the gains that a run of the scenario uses, whatever its scheduler. They depend on
/// nothing but the round, so they can be written before the run. Whoever reads the file sees all
/// of it or what was there before.
///
/// # Errors
/// Names the file that cannot be written, or what is wrong with the scenario's own trace.
pub fn record_channel(scenario: &Scenario, file: &Path) -> Result<(), RunError> {
    let source = environment::channel(scenario).map_err(EnvironmentError::from)?;
    check_place(scenario, file).map_err(at(file))?;
    let mut name = file.as_os_str().to_owned();
    name.push(".tmp");
    let temporary = PathBuf::from(name);
    let written = write(scenario, &source, &temporary).and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        // What matters is why it could not be written.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(at(file))?;
    Ok(sync_parent(file)?)
}

/// Refuses to replace what is not a file, and the trace that is being read.
fn check_place(scenario: &Scenario, file: &Path) -> io::Result<()> {
    let refused = |problem| Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    let Ok(metadata) = fs::metadata(file) else {
        return Ok(());
    };
    if !metadata.is_file() {
        return refused("is not a file; name one to write the gains to");
    }
    let traced = fs::canonicalize(&scenario.channel.trace);
    if traced.is_ok_and(|traced| fs::canonicalize(file).is_ok_and(|file| file == traced)) {
        return refused("is the trace that the gains are read from; name another file");
    }
    Ok(())
}

fn write(scenario: &Scenario, source: &ChannelSource, file: &Path) -> io::Result<()> {
    // Round 0 serves schedulers that have an introduction; a trace may do without.
    let first = u32::from(source.round(0).is_err());
    let mut recorder = Recorder::new(create_anew(file)?)?;
    for round in first..=*environment::channel_rounds(scenario).end() {
        let gains = source.round(round).map_err(io::Error::other)?;
        recorder.record(round, &gains)?;
    }
    recorder.finish()?.sync_all()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_place_of_the_temporary_file_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("gains.csv"), folder.path().join("other"));
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("gains.csv.tmp")).unwrap();
        record_channel(&Scenario::default(), &file).unwrap();
        assert_eq!(fs::read(&other).unwrap(), b"mine");
        assert!(fs::metadata(&file).unwrap().len() > 0);
    }
}
