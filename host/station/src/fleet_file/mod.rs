//! The list of a fleet, `fleet.toml`: who takes part in a run over real links.
//!
//! One list holds boards on serial ports, peers behind TCP, boards that call in, emulated boards and
//! simulated clients; a client's number decides which share of the data it owns.

mod address;
mod check;
mod chip;
mod entry;
mod error;
mod init;
mod keys;
mod name;
mod private;
mod profile;
mod store;

use gleaner_sim::ClientId;
use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::device::Board;
pub use address::{Place, SerialAddress};
use check::Checked;
pub use chip::ChipNumber;
pub use entry::{Entry, LinkKind, SecretKey};
pub use error::FleetFileError;
pub use init::{FoundPort, UsbDevice, from_ports, template};
pub use keys::{KeyBook, KeyBookError};
pub use name::{FILE_NAME, OLD_FILE_NAME, find_in};
pub use private::write_private;

/// The list of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FleetFile {
    /// Everybody, in any order.
    #[serde(rename = "client")]
    pub clients: Vec<Entry>,
}

/// The list as it is read: every client with its place in the text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    #[serde(default, rename = "client")]
    clients: Vec<Spanned<Entry>>,
}

impl FleetFile {
    /// Returns the boards to emulate.
    #[must_use]
    pub fn emulated(&self) -> Vec<Board> {
        let clients = self.clients.iter();
        clients
            .filter(|entry| entry.link == LinkKind::Emulated)
            .filter_map(Entry::emulated)
            .collect()
    }

    /// Reads and checks a file.
    ///
    /// # Errors
    /// Names file, line, entry and field.
    pub fn read(path: &Path) -> Result<Self, FleetFileError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| FleetFileError::File {
            file: file.clone(),
            source,
        })?;
        Self::parse(&text, &file)
    }

    /// Reads and checks the text of a file.
    ///
    /// # Errors
    /// Names file, line, entry and field.
    pub fn parse(text: &str, file: &str) -> Result<Self, FleetFileError> {
        let listed: Listed = toml::from_str(text).map_err(|error| FleetFileError::Syntax {
            file: file.to_owned(),
            what: error.to_string(),
        })?;
        let line = |at: usize| 1 + text[..at].matches('\n').count();
        let located = listed.clients.into_iter();
        let (lines, clients): (Vec<usize>, Vec<Entry>) = located
            .map(|entry| (line(entry.span().start), entry.into_inner()))
            .unzip();
        let mut fleet = Self { clients };
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        for (entry, &line) in fleet.clients.iter_mut().zip(&lines) {
            entry
                .take_profile(folder)
                .map_err(|what| FleetFileError::Entry {
                    file: file.to_owned(),
                    line,
                    name: entry.name.clone(),
                    what,
                })?;
        }
        let checked = Checked {
            file,
            clients: &fleet.clients,
            lines: &lines,
        };
        checked.check()?;
        fleet.clients.sort_by_key(|entry| entry.id);
        Ok(fleet)
    }

    /// Writes the file's text.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Plain data always has a form in TOML.
        toml::to_string_pretty(self).unwrap_or_default()
    }

    /// Says how many boards anybody on their line may stand in for, and what helps; `None` if every
    /// board has a key.
    #[must_use]
    pub fn open_lines(&self) -> Option<String> {
        let open = self.clients.iter().filter(|entry| entry.is_open()).count();
        let boards = match open {
            0 => return None,
            1 => "1 board has",
            _ => &format!("{open} boards have"),
        };
        Some(format!(
            "{boards} no key: whoever reaches the line may stand in for a board or for this base \
             station; `gleaner fleet init` lists boards with keys, `key` in fleet.toml adds one, \
             and `gleaner flash` writes it (docs/hil.md)"
        ))
    }

    /// Returns the entry of that name.
    ///
    /// # Errors
    /// Lists the names there are.
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

    /// Takes over the keys of a newer list, for clients of the same name and number.
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

    /// Returns the secret of a client by its number.
    #[must_use]
    pub fn key_of(&self, client: ClientId) -> Option<[u8; 32]> {
        let entry = self.clients.iter().find(|entry| entry.id == client)?;
        entry.key.map(|key| key.0)
    }
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
    fn a_mixed_fleet_is_read_in_order_of_the_clients() {
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
    fn a_key_is_read_but_never_printed_by_accident() {
        let fleet = FleetFile::parse(MIXED, "fleet.toml").unwrap();
        assert!(fleet.clients[1].wire_keys().key.is_secret());
        assert!(!format!("{fleet:?}").contains("0909"));
    }

    #[test]
    fn boards_without_a_key_are_counted_and_simulated_clients_are_not() {
        let mut fleet = FleetFile::parse(MIXED, "fleet.toml").unwrap();
        let said = fleet.open_lines().unwrap();
        assert!(said.starts_with("1 board has no key"), "{said}");
        assert!(said.contains("docs/hil.md"), "{said}");
        let key = fleet.clients[1].key.take();
        let said = fleet.open_lines().unwrap();
        assert!(said.starts_with("2 boards have no key"), "{said}");
        fleet.clients[1].key = key;
        fleet.clients[2].key = key;
        assert_eq!(fleet.open_lines(), None);
    }

    #[test]
    fn the_keys_of_a_newer_list_are_taken_over_and_nothing_else() {
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
    fn what_does_not_fit_is_named_with_its_fix() {
        let entry = |rest: &str| format!("[[client]]\nname = \"a\"\nid = 0\n{rest}\n");
        for (text, words) in [
            (
                entry("link = \"serial\"\nbuad = 9600"),
                "unknown field `buad`",
            ),
            (entry("link = \"serial\""), "usb_serial or path"),
            (entry("link = \"tcp\""), "address"),
            (
                entry("link = \"tcp\"\naddress = \"localhost\""),
                "\"localhost\"; use \"host:port\"",
            ),
            (entry("link = \"emulated\""), "chip"),
            (
                entry("link = \"emulated\"\nchip = \"stm32l496\""),
                "rp2040, stm32l4r5 or m4",
            ),
            (entry("link = \"simulated\"\npath = \"/dev/x\""), "path"),
            (
                entry("link = \"simulated\"\nkey = \"12\""),
                "64 hexadecimal digits",
            ),
            (
                entry(&format!(
                    "link = \"simulated\"\nkey = \"{}\"",
                    "0".repeat(64)
                )),
                "client \"a\": key: a key of all zeros means \"no key\"",
            ),
            (entry("link = \"incoming\""), "needs key"),
            (
                entry("link = \"incoming\"\ndevice = \"0x01\""),
                "24 hexadecimal digits",
            ),
            (
                entry("link = \"simulated\"\ndevice = \"000102030405060708090a0b\""),
                "device belongs to link = \"incoming\"",
            ),
            (
                entry("link = \"simulated\"\nkey_generation = 2"),
                "key_generation and next_key need key",
            ),
            (entry("link = \"simulated\"\nstored_j = -1.0"), "stored_j"),
            (
                "[[client]]\nname = \"a\"\nid = 7\nlink = \"simulated\"".to_owned(),
                "0 to 0",
            ),
            (String::new(), "no [[client]]"),
        ] {
            let found = complaint(&text);
            assert!(
                found.contains(words) && found.contains("fleet.toml"),
                "{found}"
            );
        }
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
    fn entries_that_cannot_be_told_apart_are_listed() {
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
    fn boards_that_call_in_and_share_a_key_are_named_and_the_key_is_not() {
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
        // On a line of its own a board is not found by its key.
        let fleet = entry("a", 0, incoming) + &entry("b", 1, serial);
        assert!(FleetFile::parse(&fleet, "fleet.toml").is_ok());
    }

    #[test]
    fn a_board_without_a_key_calls_in_by_the_number_of_its_chip_which_nobody_else_has() {
        let entry = |name: &str, id: u32| {
            let device = "device = \"000102030405060708090A0b\"";
            format!("[[client]]\nname = \"{name}\"\nid = {id}\nlink = \"incoming\"\n{device}\n")
        };
        let fleet = FleetFile::parse(&entry("a", 0), "fleet.toml").unwrap();
        let device = fleet.clients[0].device.unwrap();
        assert_eq!(device.0.0[..3], [0, 1, 2]);
        assert_eq!(FleetFile::parse(&fleet.to_toml(), "again").unwrap(), fleet);
        let found = complaint(&(entry("a", 0) + &entry("b", 1)));
        assert!(
            found.contains("device = 000102030405060708090a0b"),
            "{found}"
        );
    }

    #[test]
    fn an_unknown_name_lists_the_known() {
        let fleet = FleetFile::parse(MIXED, "fleet.toml").unwrap();
        let found = fleet.named("pica").unwrap_err().to_string();
        assert!(
            found.contains("\"pica\"") && found.contains("spare, pico, qemu"),
            "{found}"
        );
    }
}
