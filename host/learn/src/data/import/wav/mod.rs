//! Sounds: a folder of `CLASS/FILE.wav`, or of `CLIENT/CLASS/FILE.wav`.
//!
//! A row is a frame of about 32 ms, its columns are the loudness of sixteen bands ([`bands`]); each file
//! is a stretch, so `--window 16` makes samples of half a second.
//!
//! Files are parsed here and not by `hound` 3.5, which does not skip the padding byte after a part of odd
//! length and so refuses valid files.

mod bands;
mod sound;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::gather::{Gathered, Gatherer, Tags};
use super::options::Options;
use super::read::SourceHasher;
use super::{ImportError, Place};
use crate::data::fetch::Progress;

#[cfg(test)]
pub(super) use sound::wav as test_file;

use bands::Bands;
use sound::Sound;

/// Bytes of the longest file: 140 minutes at 16 bits and 16 kHz.
const LONGEST: u64 = 256 << 20;

/// A file with the class and client that its folders name.
struct Entry {
    path: PathBuf,
    class: String,
    client: Option<String>,
}

/// Reads a folder of sounds.
///
/// # Errors
/// Names the file, and the byte where it is damaged.
pub(super) fn gather(
    path: &Path,
    options: &Options,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<Gathered, ImportError> {
    if options.client.is_some() || options.part().is_some() || options.session.is_some() {
        return Err(ImportError::Option {
            option: "--wav",
            what: "has no columns: folders name clients and classes, CLIENT/CLASS/FILE.wav"
                .to_owned(),
        });
    }
    let entries = entries(path)?;
    let mut total = 0;
    for entry in &entries {
        total += fs::metadata(&entry.path)
            .map_err(gleaner_files::at(&entry.path))?
            .len();
    }
    progress.step("read", Some(total));
    let mut hasher = SourceHasher::new(progress);
    let mut started: Option<(Gatherer, Bands, u32)> = None;
    for entry in &entries {
        let at = &entry.path;
        let mut bytes = Vec::new();
        let input = File::open(at)
            .map_err(gleaner_files::at(at))?
            .take(LONGEST + 1);
        hasher
            .file(input)
            .read_to_end(&mut bytes)
            .map_err(gleaner_files::at(at))?;
        if bytes.len() as u64 > LONGEST {
            return Err(ImportError::whole(
                at,
                format!("has more than {LONGEST} bytes: split it"),
            ));
        }
        let sound = Sound::parse(&bytes)
            .map_err(|(byte, what)| ImportError::at(at, Place::Byte(byte), what))?;
        let rate = sound.rate_hz;
        let (gatherer, bands, first) = match &mut started {
            Some(started) => started,
            empty => {
                let bands = Bands::new(rate).map_err(|what| ImportError::whole(at, what))?;
                let gatherer = Gatherer::new(folder, bands.names(), 1, options)
                    .map_err(|what| ImportError::whole(at, what))?;
                empty.insert((gatherer, bands, rate))
            }
        };
        if rate != *first {
            let what = format!("has a rate of {rate} Hz, files before it {first} Hz: resample it");
            return Err(ImportError::whole(at, what));
        }
        let session = at.as_os_str().as_encoded_bytes();
        let tags = Tags {
            label: entry.class.as_bytes(),
            client: entry.client.as_deref().map(str::as_bytes),
            session: Some(session),
            part: None,
        };
        bands
            .frames(&sound.samples, |values| gatherer.row(&tags, values))
            .and_then(|()| gatherer.close())
            .map_err(|what| ImportError::whole(at, what))?;
    }
    let Some((gatherer, ..)) = started else {
        return Err(ImportError::whole(path, "holds no CLASS/FILE.wav"));
    };
    let source = hasher.source("wav", path);
    gatherer
        .finish(source)
        .map_err(|what| ImportError::whole(path, what))
}

/// Lists all files in the order of their names.
fn entries(path: &Path) -> Result<Vec<Entry>, ImportError> {
    let mut all = Vec::new();
    for outer in list(path)? {
        for inner in list(&outer)? {
            if inner.is_dir() {
                for sound in list(&inner)? {
                    all.extend(entry(&sound, &inner, Some(&outer)));
                }
            } else {
                all.extend(entry(&inner, &outer, None));
            }
        }
    }
    if let Some(pair) = all
        .windows(2)
        .find(|pair| pair[0].client.is_some() != pair[1].client.is_some())
    {
        let what = "has more or fewer folders than the files before it: use CLASS/FILE.wav or \
                    CLIENT/CLASS/FILE.wav for all";
        return Err(ImportError::whole(&pair[1].path, what));
    }
    Ok(all)
}

/// Returns the sorted paths in a folder; nothing if `path` is a file.
fn list(path: &Path) -> Result<Vec<PathBuf>, ImportError> {
    if path.is_file() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(gleaner_files::at(path))? {
        found.push(entry.map_err(gleaner_files::at(path))?.path());
    }
    found.sort();
    Ok(found)
}

fn entry(path: &Path, class: &Path, client: Option<&PathBuf>) -> Option<Entry> {
    let ending = path.extension()?.to_ascii_lowercase();
    let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    (ending == "wav").then_some(())?;
    Some(Entry {
        path: path.to_owned(),
        class: name(class)?,
        client: client.and_then(|client| name(client)),
    })
}
