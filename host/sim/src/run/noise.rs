//! The secret of a run's noise: a private file in its directory, without which nobody can subtract the
//! noise and nobody can replay the run.

use std::io::{self, Write};

use gleaner_files::{FileError, hexadecimal, read_text};

use super::RunDirectory;
use super::inputs::settle;
use crate::round::NoiseKey;
use crate::scenario::{NoiseSource, Scenario};

/// Says whether the noise of a scenario's run follows from a secret.
pub(super) fn is_secret(scenario: &Scenario) -> bool {
    scenario.privacy.is_on() && scenario.privacy.noise == NoiseSource::Secret
}

/// Draws a secret from the system.
///
/// # Errors
/// When the system has no randomness to give.
pub(super) fn draw() -> Result<NoiseKey, FileError> {
    let mut key = NoiseKey([0; 32]);
    let drawn = getrandom::fill(&mut key.0).map_err(io::Error::other);
    drawn.map_err(gleaner_files::at(RunDirectory::NOISE))?;
    Ok(key)
}

/// Returns the content of the file: 64 hexadecimal digits and a line feed.
pub(super) fn text(key: &NoiseKey) -> String {
    format!("{}\n", hexadecimal(&key.0))
}

/// Writes the file under its temporary name, readable by its owner alone.
pub(super) fn stage(directory: &RunDirectory, text: &str) -> Result<(), FileError> {
    let file = directory.file(RunDirectory::STAGED_NOISE);
    let write = || {
        let mut staged = gleaner_files::create_private(&file)?;
        staged.write_all(text.as_bytes())?;
        staged.sync_all()
    };
    write().map_err(gleaner_files::at(&file))
}

/// Reads the secret of the run in a directory.
///
/// # Errors
/// Names the file: it is missing, or holds something else.
pub(super) fn read(directory: &RunDirectory) -> Result<NoiseKey, FileError> {
    let path = directory.file(RunDirectory::NOISE);
    // A crash may have come between the scenario and the renaming.
    if !path.exists() && directory.file(RunDirectory::STAGED_NOISE).exists() {
        settle(directory, RunDirectory::NOISE, RunDirectory::STAGED_NOISE)?;
    }
    let text = read_text(&path).map_err(|error| {
        let what = format!("{error}; the noise of this run follows from this file: restore it");
        gleaner_files::at(&path)(io::Error::new(error.kind(), what))
    })?;
    parse(text.trim_end()).ok_or_else(|| {
        let what = "not the 64 hexadecimal digits of a secret: restore the file";
        gleaner_files::at(&path)(io::Error::new(io::ErrorKind::InvalidData, what))
    })
}

fn parse(text: &str) -> Option<NoiseKey> {
    let mut key = NoiseKey([0; 32]);
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in key.0.iter_mut().zip(digits.chunks(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = (16 * digit(0)? + digit(1)?) as u8;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_secret_is_read_as_it_was_drawn_and_only_its_owner_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        let (key, other) = (draw().unwrap(), draw().unwrap());
        assert!(key != other && !format!("{key:?}").contains(&text(&key)[..4]));
        stage(&directory, &text(&key)).unwrap();
        assert_eq!(read(&directory).unwrap(), key);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let file = fs::metadata(directory.file(RunDirectory::NOISE)).unwrap();
            assert_eq!(file.permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_missing_or_damaged_secret_is_named_with_its_fix() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        let missing = read(&directory).unwrap_err();
        assert_eq!(missing.source.kind(), io::ErrorKind::NotFound);
        assert!(missing.to_string().contains("noise.key"), "{missing}");
        for text in [
            "",
            "00",
            &"0g".repeat(32),
            &"00".repeat(33),
            &"é".repeat(32),
        ] {
            fs::write(directory.file(RunDirectory::NOISE), text).unwrap();
            let damaged = read(&directory).unwrap_err();
            assert_eq!(damaged.source.kind(), io::ErrorKind::InvalidData, "{text}");
        }
    }
}
