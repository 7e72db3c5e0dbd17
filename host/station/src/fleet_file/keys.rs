//! Changes keys in a fleet file in place: comments and order stay, and every change is on the disk
//! before it is used.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use gleaner_files::hexadecimal;
use gleaner_shared::wire::HostKeys;
use serde::Deserialize;
use tempfile::NamedTempFile;
use toml::Spanned;

use super::{Entry, FleetFile, FleetFileError, Link, SecretKey};

/// A fleet file that is locked while its keys are rotated.
#[derive(Debug)]
pub struct KeyStore {
    path: PathBuf,
    /// Lock on the folder, since every change replaces the file.
    _lock: Option<File>,
}

impl KeyStore {
    /// Opens a fleet file; a symbolic link is followed.
    ///
    /// # Errors
    /// Returns an error if the file does not exist or another process changes its keys.
    pub fn open(path: &Path) -> Result<Self, FleetFileError> {
        let path = std::fs::canonicalize(path).map_err(|source| FleetFileError::File {
            file: path.display().to_string(),
            source,
        })?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        // A system without locks on folders does not prevent that.
        let lock = File::open(folder).ok();
        let locked = lock.as_ref().map(File::try_lock);
        if let Some(Err(TryLockError::WouldBlock)) = locked {
            let folder = folder.display().to_string();
            return Err(FleetFileError::InUse { folder });
        }
        Ok(Self { path, _lock: lock })
    }

    /// Reads the current file.
    ///
    /// # Errors
    /// As [`FleetFile::read`].
    pub fn read(&self) -> Result<FleetFile, FleetFileError> {
        FleetFile::read(&self.path)
    }

    /// Writes a next key after `generation`, which the board proved to use, and returns both keys; an
    /// existing next key stays.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn prepare_next(&self, name: &str, generation: u32) -> Result<HostKeys, FleetFileError> {
        let drawn = fresh_key()?;
        let entry = self.change(name, |entry| {
            entry.key_generation = generation;
            entry.next_key.get_or_insert(drawn);
        })?;
        Ok(entry.wire_keys())
    }

    /// Replaces the key by the next one, which the board proved to use.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn commit_next(&self, name: &str) -> Result<(), FleetFileError> {
        self.change(name, |entry| {
            if let Some(next) = entry.next_key.take() {
                entry.key = Some(next);
                entry.key_generation = entry.key_generation.saturating_add(1);
            }
        })
        .map(drop)
    }

    /// Deletes the next key, which the board will never use.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn discard_next(&self, name: &str) -> Result<(), FleetFileError> {
        self.change(name, |entry| entry.next_key = None).map(drop)
    }

    /// Draws a new key for an emulated board, which gets its key at every start.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn replace(&self, name: &str) -> Result<(), FleetFileError> {
        let drawn = fresh_key()?;
        self.change(name, |entry| {
            (entry.key, entry.key_generation, entry.next_key) = (Some(drawn), 0, None);
        })
        .map(drop)
    }

    /// Sets the USB serial number of a board whose port was unknown.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn set_usb_serial(&self, name: &str, usb_serial: &str) -> Result<(), FleetFileError> {
        self.change(name, |entry| {
            if let Link::Serial { usb_serial: it, .. } = &mut entry.link {
                *it = Some(usb_serial.to_owned());
            }
        })
        .map(drop)
    }

    /// Changes one client on the disk, if the change has an effect.
    fn change(&self, name: &str, change: impl FnOnce(&mut Entry)) -> Result<Entry, FleetFileError> {
        let file = self.path.display().to_string();
        let failed = |source| {
            let file = file.clone();
            FleetFileError::File { file, source }
        };
        let text = gleaner_files::read_text(&self.path).map_err(failed)?;
        let mut fleet = FleetFile::parse(&text, &file)?;
        let before = fleet.named(name)?.clone();
        let mut after = before.clone();
        change(&mut after);
        if after != before {
            for entry in &mut fleet.clients {
                if entry.name == name {
                    *entry = after.clone();
                }
            }
            let text = with_keys(&text, &after)
                .filter(|text| FleetFile::parse(text, &file).is_ok_and(|it| it == fleet))
                // A file in an unusual form is rewritten without its comments.
                .unwrap_or_else(|| fleet.to_toml());
            write_private(&self.path, text)
                .map_err(|source| FleetFileError::Write { file, source })?;
        }
        Ok(after)
    }
}

/// Writes a file with keys, readable by its owner alone. Readers never see half a file, and a power
/// cut leaves the old one or the new one. A symbolic link of that name is replaced, not followed.
///
/// # Errors
/// Returns the error of the system.
pub fn write_private(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // A temporary file is readable by its owner alone from the start.
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(content.as_ref())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // The name is on the disk only after the folder is; systems that do not open folders write
    // both together.
    match File::open(folder) {
        Ok(folder) => folder.sync_all(),
        Err(_) => Ok(()),
    }
}

/// Draws a random key.
pub(super) fn fresh_key() -> Result<SecretKey, getrandom::Error> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    Ok(SecretKey(key))
}

/// Positions of the keys in the file's text.
#[derive(Deserialize)]
struct Listed {
    client: Vec<Places>,
}

#[derive(Deserialize)]
struct Places {
    name: String,
    usb_serial: Option<String>,
    key: Option<Spanned<String>>,
    key_generation: Option<Spanned<u32>>,
    next_key: Option<Spanned<String>>,
}

/// Returns the text with the keys of one client replaced by those of `entry`, or `None` if the keys
/// are not on lines of their own.
fn with_keys(text: &str, entry: &Entry) -> Option<String> {
    let listed: Listed = toml::from_str(text).ok()?;
    let places = listed.client.into_iter().find(|it| it.name == entry.name)?;
    let value = places.key?.span();
    let key = line_of(text, "key", value.clone())?;
    let old = [
        ("key_generation", places.key_generation.map(|it| it.span())),
        ("next_key", places.next_key.map(|it| it.span())),
    ];
    let indent = &text[key.clone()];
    let indent = &indent[..indent.len() - indent.trim_start().len()];
    let digits = |key: SecretKey| hexadecimal(&key.0);
    let (before, after) = (
        &text[key.start..value.start],
        text[value.end..key.end].trim_end(),
    );
    let mut lines = format!("{before}\"{}\"{after}\n", digits(entry.key?));
    if entry.key_generation > 0 {
        lines += &format!("{indent}key_generation = {}\n", entry.key_generation);
    }
    if let Some(next) = entry.next_key {
        lines += &format!("{indent}next_key = \"{}\"\n", digits(next));
    }
    let serial = match &entry.link {
        Link::Serial { usb_serial, .. } => usb_serial.as_ref(),
        _ => None,
    };
    if let (None, Some(number)) = (&places.usb_serial, serial) {
        lines += &format!(
            "{indent}usb_serial = {}\n",
            toml::Value::from(number.as_str())
        );
    }
    let mut edits = vec![(key, lines)];
    for (field, span) in old {
        if let Some(span) = span {
            edits.push((line_of(text, field, span)?, String::new()));
        }
    }
    edits.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let mut text = text.to_owned();
    for (place, line) in edits {
        text.replace_range(place, &line);
    }
    Some(text)
}

/// Returns the line of a field if it holds only the field, its value and a comment.
fn line_of(text: &str, field: &str, value: Range<usize>) -> Option<Range<usize>> {
    let start = text[..value.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[value.end..]
        .find('\n')
        .map_or(text.len(), |at| value.end + at + 1);
    let before = text[start..value.start].trim().strip_prefix(field)?;
    let after = text[value.end..end].trim();
    let alone = before.trim() == "=" && (after.is_empty() || after.starts_with('#'));
    alone.then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# Boards of the lab.\n\n[[client]]\nname = \"far\"   # on the roof\nid = 1\n\
        link = \"simulated\"\n\n  [[client]]\n  name = \"near\"\n  id = 0\n  link = \"tcp\"\n  \
        # printed on its box\n  key = \"0909090909090909090909090909090909090909090909090909090909090909\"\n  \
        address = \"127.0.0.1:4000\" # for now\n";

    fn store(text: &str) -> (tempfile::TempDir, KeyStore) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fleet.toml");
        std::fs::write(&path, text).unwrap();
        let store = KeyStore::open(&path).unwrap();
        (folder, store)
    }

    fn text(store: &KeyStore) -> String {
        std::fs::read_to_string(&store.path).unwrap()
    }

    fn near(store: &KeyStore) -> Entry {
        store.read().unwrap().named("near").unwrap().clone()
    }

    #[test]
    fn rotations_change_the_keys_and_nothing_else() {
        let (_folder, store) = store(LIST);
        let old = near(&store);
        let keys = store.prepare_next("near", 0).unwrap();
        let promised = near(&store);
        assert_eq!((promised.key, promised.wire_keys()), (old.key, keys));
        assert!(keys.next.is_some());
        assert_eq!(
            store.prepare_next("near", 0).unwrap(),
            keys,
            "the same key again"
        );
        store.commit_next("near").unwrap();
        let settled = near(&store);
        assert_eq!(settled.key, promised.next_key);
        assert_eq!((settled.key_generation, settled.next_key), (1, None));
        store.commit_next("near").unwrap();
        assert_eq!(near(&store), settled, "settled once");
        store.prepare_next("near", 1).unwrap();
        store.commit_next("near").unwrap();
        let is_kept = |line: &&str| !line.trim_start().starts_with("key");
        let kept = |text: &str| text.lines().filter(is_kept).collect::<Vec<_>>().join("\n");
        assert_eq!(kept(&text(&store)), kept(LIST));
        assert!(
            text(&store).contains("\n  key_generation = 2\n"),
            "{}",
            text(&store)
        );
    }

    #[test]
    fn a_board_that_counts_from_zero_again_keeps_the_next_key() {
        let (_folder, store) = store(LIST);
        let first = store.prepare_next("near", 6).unwrap();
        let again = store.prepare_next("near", 0).unwrap();
        assert_eq!((first.generation, again.generation), (6, 0));
        assert_eq!(first.next, again.next);
        store.discard_next("near").unwrap();
        assert_eq!(text(&store), LIST);
    }

    #[test]
    fn a_file_in_another_form_is_rewritten() {
        let inline = "client = [{ name = \"near\", id = 0, link = \"simulated\", key = \
            \"0909090909090909090909090909090909090909090909090909090909090909\" }]\n";
        let (_folder, store) = store(inline);
        let keys = store.prepare_next("near", 0).unwrap();
        assert_eq!(near(&store).wire_keys(), keys);
        store.commit_next("near").unwrap();
        assert_eq!(near(&store).key_generation, 1);
    }

    #[test]
    fn a_key_with_a_comment_is_changed() {
        let noted = LIST.replace("09\"\n", "09\" # secret!\n");
        let (_folder, store) = store(&noted);
        let keys = store.prepare_next("near", 0).unwrap();
        assert_eq!(near(&store).wire_keys(), keys);
        assert!(text(&store).contains("# secret!") && text(&store).contains("# on the roof"));
    }

    #[test]
    fn replace_draws_another_key() {
        let (_folder, store) = store(LIST);
        let old = near(&store);
        store.replace("near").unwrap();
        let new = near(&store);
        assert_ne!(new.key, old.key);
        assert_eq!((new.key_generation, new.next_key), (0, None));
    }

    #[cfg(unix)]
    #[test]
    fn the_file_behind_a_link_is_changed_and_stays_private() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (folder, store) = store(LIST);
        let path = folder.path().join("link.toml");
        symlink(folder.path().join("fleet.toml"), &path).unwrap();
        drop(store);
        let store = KeyStore::open(&path).unwrap();
        store.prepare_next("near", 0).unwrap();
        assert!(near(&store).next_key.is_some());
        assert_eq!(FleetFile::read(&path).unwrap(), store.read().unwrap());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn a_second_rotation_is_refused() {
        let (folder, _store) = store(LIST);
        let refused = KeyStore::open(&folder.path().join("fleet.toml"));
        assert!(matches!(refused, Err(FleetFileError::InUse { .. })));
    }

    #[test]
    fn the_usb_serial_number_is_added_and_comments_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fleet.toml");
        let key = "09".repeat(32);
        let list = format!(
            "# The lab.\n[[client]]\nname = \"pico\" # new\nid = 0\nlink = \"serial\"\nchip = \
             \"rp2040\"\nkey = \"{key}\"\n"
        );
        std::fs::write(&path, &list).unwrap();
        let store = KeyStore::open(&path).unwrap();
        store.set_usb_serial("pico", "E661 \"x\"").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&list), "{text}");
        let entry = &store.read().unwrap().clients[0];
        assert_eq!(
            entry.link,
            Link::Serial {
                usb_serial: Some("E661 \"x\"".to_owned()),
                path: None
            }
        );
        assert!(!entry.is_fresh());
    }

    #[cfg(unix)]
    #[test]
    fn write_private_replaces_a_symbolic_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("shard.bin"), folder.path().join("other"));
        std::fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        write_private(&path, b"key").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"key");
        assert_eq!(std::fs::read(&other).unwrap(), b"mine");
    }
}
