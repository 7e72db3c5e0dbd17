//! The fleet file, `fleet.toml`: the clients of a run over real links.
//!
//! One file lists boards on serial ports, TCP servers, boards that connect by themselves, emulated
//! boards and simulated clients. [`link`] says how to add a kind of link.

mod costs;
mod entry;
mod init;
mod keys;
pub mod link;
mod preset;

use gleaner_sim::ClientId;
use gleaner_sim::run::RunDirectory;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::device::Board;
use entry::Fields;
pub use entry::{Entry, SecretKey};
pub use init::{FoundPort, UsbDevice, from_ports, template};
pub use keys::{KeyStore, write_private};
pub use link::{Access, ChipNumber, Link, Place, SerialAddress};
pub use preset::DeviceError;

/// Default name of the file, and its name in the directory of a run.
pub const FILE_NAME: &str = RunDirectory::FLEET;

/// Returns the path of a folder's fleet file.
#[must_use]
pub fn find_in(folder: &Path) -> PathBuf {
    folder.join(FILE_NAME)
}

/// An invalid key of a client, with the value and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct InvalidField {
    /// The key in the file, or one of the keys that contradict one another.
    pub field: &'static str,
    what: Cow<'static, str>,
}

impl InvalidField {
    pub(crate) fn new(field: &'static str, what: impl Into<Cow<'static, str>>) -> Self {
        let what = what.into();
        Self { field, what }
    }
}

/// Error reading or changing a fleet file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the values in the message")]
pub enum FleetFileError {
    /// The file cannot be read.
    #[error("{file}: {source}; `gleaner fleet init` writes one")]
    File {
        file: String,
        source: std::io::Error,
    },
    /// The file is no valid TOML, or has unknown keys; `what` has line and column.
    #[error("{file}: {what}")]
    Syntax { file: String, what: String },
    /// The file lists no client.
    #[error("{file}: there is no [[client]] in it")]
    Empty { file: String },
    /// A key before the clients is invalid.
    #[error("{file}, line {line}: {source}")]
    Head {
        file: String,
        line: usize,
        source: InvalidField,
    },
    /// One client is invalid; its table begins at `line`.
    #[error(
        "{file}, line {line}: client \"{}\": {source}",
        gleaner_files::printable(name)
    )]
    Entry {
        file: String,
        line: usize,
        name: String,
        source: InvalidField,
    },
    /// Several clients have the same name, number or place.
    #[error("{file}: {field} = {value} is claimed by {candidates}; give each its own")]
    Ambiguous {
        file: String,
        field: &'static str,
        value: String,
        candidates: String,
    },
    /// The file cannot be written.
    #[error("{file}: {source}")]
    Write {
        file: String,
        source: std::io::Error,
    },
    /// Another process changes keys in the same folder.
    #[error(
        "{folder}: another `gleaner fleet rekey` changes keys in this folder; wait until it ends"
    )]
    InUse { folder: String },
    /// The system has no randomness for a key.
    #[error("no randomness for a key: {0}")]
    Randomness(#[from] getrandom::Error),
    /// No client has the requested name.
    #[error("no client is called \"{name}\"; there are {names}")]
    NoSuchName { name: String, names: String },
}

/// The clients of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FleetFile {
    /// The preset, or scenario file, of runs with these clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// All clients; sorted by number if they were read from a file.
    #[serde(rename = "client")]
    pub clients: Vec<Entry>,
}

/// The file as it is read: every client with its position in the text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    preset: Option<Spanned<String>>,
    #[serde(default, rename = "client")]
    clients: Vec<Spanned<Fields>>,
}

impl FleetFile {
    /// Returns the boards to emulate.
    #[must_use]
    pub fn emulated(&self) -> Vec<Board> {
        let clients = self.clients.iter();
        clients.filter_map(|entry| entry.link.emulated()).collect()
    }

    /// Reads and checks a file.
    ///
    /// # Errors
    /// Names file, line, client and key.
    pub fn read(path: &Path) -> Result<Self, FleetFileError> {
        let file = path.display().to_string();
        let text = gleaner_files::read_text(path).map_err(|source| FleetFileError::File {
            file: file.clone(),
            source,
        })?;
        Self::parse(&text, &file)
    }

    /// Reads and checks the text of a file; `file` is its path, for errors and for the profiles it
    /// names.
    ///
    /// ```
    /// use gleaner_station::fleet_file::{FleetFile, Link};
    ///
    /// let text = r#"
    ///     [[client]]
    ///     name = "pico"
    ///     id = 0
    ///     link = "tcp"
    ///     address = "127.0.0.1:4000"
    /// "#;
    /// let fleet = FleetFile::parse(text, "fleet.toml")?;
    /// let address = "127.0.0.1:4000".to_owned();
    /// assert_eq!(fleet.clients[0].link, Link::Tcp { address });
    /// # Ok::<(), gleaner_station::fleet_file::FleetFileError>(())
    /// ```
    ///
    /// # Errors
    /// Names file, line, client and key.
    pub fn parse(text: &str, file: &str) -> Result<Self, FleetFileError> {
        let listed: Listed = toml::from_str(text).map_err(|error| FleetFileError::Syntax {
            file: file.to_owned(),
            what: error.to_string(),
        })?;
        if listed.clients.is_empty() {
            return Err(FleetFileError::Empty {
                file: file.to_owned(),
            });
        }
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let count = listed.clients.len();
        let line_of = |at: usize| 1 + text[..at].matches('\n').count();
        let mut lines = Vec::new();
        let mut fleet = Self::default();
        if let Some(preset) = listed.preset {
            preset::check(preset.get_ref()).map_err(|source| FleetFileError::Head {
                file: file.to_owned(),
                line: line_of(preset.span().start),
                source,
            })?;
            fleet.preset = Some(preset.into_inner());
        }
        for fields in listed.clients {
            let line = line_of(fields.span().start);
            let fields = fields.into_inner();
            let name = fields.name().to_owned();
            let entry = Entry::try_from(fields).and_then(|mut entry| {
                entry.take_profile(folder)?;
                entry.check()?;
                check_id(entry.id.0, count)?;
                Ok(entry)
            });
            fleet
                .clients
                .push(entry.map_err(|source| FleetFileError::Entry {
                    file: file.to_owned(),
                    line,
                    name,
                    source,
                })?);
            lines.push(line);
        }
        fleet.check_unique(file, &lines)?;
        fleet.clients.sort_by_key(|entry| entry.id);
        Ok(fleet)
    }

    /// Checks that no two clients share a name, a number, a place, or what identifies a board that
    /// connects by itself. `lines` are those of the clients in the file.
    fn check_unique(&self, file: &str, lines: &[usize]) -> Result<(), FleetFileError> {
        let unique = |field, value: &dyn Fn(&Entry) -> Option<String>| {
            for wanted in self.clients.iter().filter_map(value) {
                let claims: Vec<String> = (self.clients.iter().zip(lines))
                    .filter(|(other, _)| value(other).as_ref() == Some(&wanted))
                    .map(|(other, line)| format!("{} (line {line})", other.name))
                    .collect();
                if claims.len() > 1 {
                    return Err(FleetFileError::Ambiguous {
                        file: file.to_owned(),
                        field,
                        // The key of several clients is not shown.
                        value: if field == "key" {
                            "(not shown)".to_owned()
                        } else {
                            wanted
                        },
                        candidates: claims.join(", "),
                    });
                }
            }
            Ok(())
        };
        unique("name", &|entry| Some(entry.name.clone()))?;
        unique("id", &|entry| Some(entry.id.to_string()))?;
        unique("place", &Entry::place_text)?;
        unique("key", &|entry| {
            let key = entry.key.filter(|_| entry.link.is_incoming())?;
            Some(gleaner_files::hexadecimal(&key.0))
        })?;
        unique("device", &|entry| Some(entry.link.device()?.to_string()))
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Plain data always has a form in TOML.
        toml::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns a warning with the number of boards without a key, or `None` if every board has one.
    #[must_use]
    pub fn key_warning(&self) -> Option<String> {
        let clients = self.clients.iter();
        let without = clients.filter(|entry| entry.is_unauthenticated()).count();
        let boards = match without {
            0 => return None,
            1 => "1 board has",
            _ => &format!("{without} boards have"),
        };
        Some(format!(
            "{boards} no key: anybody who reaches the line can impersonate the board or this base \
             station; `gleaner fleet init` writes keys, `key` in fleet.toml adds one, and \
             `gleaner flash` writes it to the board (docs/guide/boards.md)"
        ))
    }

    /// Returns the client of that name.
    ///
    /// # Errors
    /// Lists the names of the file.
    pub fn named(&self, name: &str) -> Result<&Entry, FleetFileError> {
        let found = self.clients.iter().find(|entry| entry.name == name);
        found.ok_or_else(|| {
            let names = self.clients.iter().map(|entry| entry.name.as_str());
            FleetFileError::NoSuchName {
                name: name.to_owned(),
                names: names.collect::<Vec<_>>().join(", "),
            }
        })
    }

    /// Copies the keys of a newer file to clients of the same name and number.
    pub fn take_keys(&mut self, newer: &Self) {
        for entry in &mut self.clients {
            let same = |it: &&Entry| it.name == entry.name && it.id == entry.id;
            if let Some(found) = newer.clients.iter().find(same) {
                entry.key = found.key;
                entry.key_generation = found.key_generation;
                entry.next_key = found.next_key;
            }
        }
    }

    /// Returns the key of a client by its number.
    #[must_use]
    pub fn key_of(&self, client: ClientId) -> Option<[u8; 32]> {
        let entry = self.clients.iter().find(|entry| entry.id == client)?;
        entry.key.map(|key| key.0)
    }
}

fn check_id(id: u32, count: usize) -> Result<(), InvalidField> {
    if (id as usize) < count {
        return Ok(());
    }
    let last = count - 1;
    let what = format!("id = {id} but there are {count} clients; use 0 to {last}");
    Err(InvalidField::new("id", what))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: &str = r#"
        [[client]]
        name = "pico"
        id = 1
        link = "serial"
        chip = "rp2040"
        usb_serial = "E6614103E7174B2C"
        key = "0909090909090909090909090909090909090909090909090909090909090909"
        stored_j = 2.5

        [[client]]
        name = "spare"
        id = 0
        link = "simulated"

        [[client]]
        name = "qemu"
        id = 2
        link = "tcp"
        address = "127.0.0.1:4000"
    "#;

    #[test]
    fn clients_are_sorted_by_number() {
        let fleet = FleetFile::parse(MIXED, "fleet.toml").unwrap();
        let names: Vec<&str> = fleet
            .clients
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
        assert_eq!(names, ["spare", "pico", "qemu"]);
        assert_eq!(fleet.clients[1].baud, 921_600);
        assert_eq!(FleetFile::parse(&fleet.to_toml(), "again").unwrap(), fleet);
    }

    #[test]
    fn a_key_is_not_in_debug_output() {
        let fleet = FleetFile::parse(MIXED, "fleet.toml").unwrap();
        assert!(fleet.clients[1].wire_keys().key.is_secret());
        assert!(!format!("{fleet:?}").contains("0909"));
    }

    #[test]
    fn the_key_warning_counts_boards_without_a_key() {
        let mut fleet = FleetFile::parse(MIXED, "fleet.toml").unwrap();
        let warning = fleet.key_warning().unwrap();
        assert!(warning.starts_with("1 board has no key"), "{warning}");
        assert!(warning.contains("docs/guide/boards.md"), "{warning}");
        let key = fleet.clients[1].key.take();
        let warning = fleet.key_warning().unwrap();
        assert!(warning.starts_with("2 boards have no key"), "{warning}");
        fleet.clients[1].key = key;
        fleet.clients[2].key = key;
        assert_eq!(fleet.key_warning(), None);
    }

    #[test]
    fn take_keys_copies_keys_and_nothing_else() {
        let mut fleet = FleetFile::parse(MIXED, "fleet.toml").unwrap();
        let mut newer = fleet.clone();
        let [_, pico, qemu] = &mut newer.clients[..] else {
            panic!("three clients");
        };
        (pico.key, pico.key_generation) = (Some(SecretKey([3; 32])), 1);
        pico.next_key = Some(SecretKey([4; 32]));
        pico.storage_j = Some(7.0);
        (qemu.name, qemu.key) = ("another".to_owned(), Some(SecretKey([5; 32])));
        let before = fleet.clone();
        fleet.take_keys(&newer);
        assert_eq!(fleet.clients[1].wire_keys(), newer.clients[1].wire_keys());
        assert_eq!(fleet.clients[1].storage_j, before.clients[1].storage_j);
        assert_eq!(fleet.clients[2], before.clients[2], "of another name");
    }

    fn complaint(text: &str) -> String {
        FleetFile::parse(text, "fleet.toml")
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn an_invalid_key_is_named_with_its_fix() {
        let zeros = "0".repeat(64);
        for (keys, field, words) in [
            ("link = \"serial\"", "usb_serial", "usb_serial or path"),
            ("link = \"tcp\"", "address", "host:port"),
            (
                "link = \"tcp\"\naddress = \"localhost\"",
                "address",
                "\"localhost\"; use \"host:port\"",
            ),
            ("link = \"emulated\"", "chip", "needs chip"),
            (
                "link = \"emulated\"\nchip = \"stm32l496\"",
                "chip",
                "rp2040, stm32l4r5 or m4",
            ),
            (
                "link = \"simulated\"\npath = \"/dev/x\"",
                "usb_serial",
                "serial",
            ),
            (
                &format!("link = \"simulated\"\nkey = \"{zeros}\""),
                "key",
                "a key of all zeros means \"no key\"",
            ),
            ("link = \"incoming\"", "key", "needs key"),
            (
                "link = \"simulated\"\ndevice = \"000102030405060708090a0b\"",
                "device",
                "incoming",
            ),
            ("link = \"simulated\"\nkey_generation = 2", "key", "beside"),
            ("link = \"simulated\"\nstored_j = -1.0", "stored_j", "-1"),
        ] {
            let text = format!("[[client]]\nname = \"a\"\nid = 0\n{keys}\n");
            let error = FleetFile::parse(&text, "fleet.toml").unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
            let FleetFileError::Entry { file, source, .. } = error else {
                panic!("{error}");
            };
            assert_eq!((file.as_str(), source.field), ("fleet.toml", field));
        }
        for (text, words) in [
            ("link = \"serial\"\nbuad = 9600", "unknown field `buad`"),
            (
                "link = \"simulated\"\nkey = \"12\"",
                "64 hexadecimal digits",
            ),
            (
                "link = \"incoming\"\ndevice = \"0x01\"",
                "24 hexadecimal digits",
            ),
        ] {
            let found = complaint(&format!("[[client]]\nname = \"a\"\nid = 0\n{text}\n"));
            assert!(found.contains(words) && found.starts_with("fleet.toml"));
        }
        assert!(
            complaint("[[client]]\nname = \"a\"\nid = 7\nlink = \"simulated\"").contains("0 to 0")
        );
        assert!(matches!(
            FleetFile::parse("", "fleet.toml"),
            Err(FleetFileError::Empty { .. })
        ));
    }

    #[test]
    fn a_wrong_client_is_named_with_its_line() {
        let found = complaint(&MIXED.replace("link = \"simulated\"", "link = \"emulated\""));
        assert!(
            found.starts_with("fleet.toml, line 11: client \"spare\": "),
            "{found}"
        );
    }

    #[test]
    fn names_with_control_characters_are_refused_and_shown_escaped() {
        for (name, shown) in [
            (r"a\u001b[2Jb", "\\u{1b}[2J"),
            (r"a\nerror: b", "\\u{a}error"),
            (r"a\u202eb", "\\u{202e}"),
        ] {
            let found =
                complaint(&MIXED.replace("name = \"spare\"", &format!("name = \"{name}\"")));
            assert!(found.contains(shown), "{found}");
            assert!(!found.contains(gleaner_files::is_interpreted), "{found:?}");
        }
    }

    #[test]
    fn clients_with_the_same_number_or_place_are_refused() {
        let entry = |name: &str, id: u32, rest: &str| {
            format!("[[client]]\nname = \"{name}\"\nid = {id}\nlink = \"serial\"\n{rest}\n")
        };
        let same_id = entry("a", 0, "path = \"/dev/x\"") + &entry("b", 0, "path = \"/dev/y\"");
        let found = complaint(&same_id);
        assert!(
            found.contains("id = 0") && found.contains("a (line 1), b (line 6)"),
            "{found}"
        );
        let same_place = entry("a", 0, "path = \"/dev/x\"") + &entry("b", 1, "path = \"/dev/x\"");
        let found = complaint(&same_place);
        assert!(
            found.contains("/dev/x") && found.contains("a (line 1), b (line 6)"),
            "{found}"
        );
    }

    #[test]
    fn incoming_boards_that_share_a_key_are_refused_without_showing_it() {
        let key = "5a".repeat(32);
        let entry = |name: &str, id: u32, link: &str| {
            format!("[[client]]\nname = \"{name}\"\nid = {id}\n{link}\nkey = \"{key}\"\n")
        };
        let (incoming, serial) = (
            "link = \"incoming\"",
            "link = \"serial\"\npath = \"/dev/x\"",
        );
        let found = complaint(&(entry("a", 0, incoming) + &entry("b", 1, incoming)));
        assert!(found.contains("a (line 1), b (line 6)"), "{found}");
        assert!(!found.contains("5a5a"), "{found}");
        // A board on a serial line is not identified by its key.
        let fleet = entry("a", 0, incoming) + &entry("b", 1, serial);
        assert!(FleetFile::parse(&fleet, "fleet.toml").is_ok());
    }

    #[test]
    fn an_incoming_board_without_a_key_needs_a_unique_chip_number() {
        let entry = |name: &str, id: u32| {
            let device = "device = \"000102030405060708090A0b\"";
            format!("[[client]]\nname = \"{name}\"\nid = {id}\nlink = \"incoming\"\n{device}\n")
        };
        let fleet = FleetFile::parse(&entry("a", 0), "fleet.toml").unwrap();
        let device = fleet.clients[0].link.device().unwrap();
        assert_eq!(device.0.0[..3], [0, 1, 2]);
        assert_eq!(FleetFile::parse(&fleet.to_toml(), "again").unwrap(), fleet);
        let found = complaint(&(entry("a", 0) + &entry("b", 1)));
        assert!(
            found.contains("device = 000102030405060708090a0b"),
            "{found}"
        );
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let fleet = FleetFile::parse(MIXED, "fleet.toml").unwrap();
        let found = fleet.named("pica").unwrap_err().to_string();
        assert!(
            found.contains("\"pica\"") && found.contains("spare, pico, qemu"),
            "{found}"
        );
    }
}
