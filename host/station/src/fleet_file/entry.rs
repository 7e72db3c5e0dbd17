//! One client of a fleet file.

use gleaner_sim::ClientId;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use gleaner_files::{hexadecimal, is_interpreted, printable};
use gleaner_shared::wire::link::Timing;
use gleaner_shared::wire::{HostKeys, Key};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::InvalidField;
use super::link::{Access, ChipNumber, Kind, Link, Place};
use crate::device::Board;

const KEY_DIGITS: &str = "a key has 64 hexadecimal digits";

/// A secret key of 32 bytes, written as hexadecimal digits and never shown in debug output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretKey(pub [u8; 32]);

impl SecretKey {
    fn check(self, field: &'static str) -> Result<(), InvalidField> {
        if self.0 != [0; 32] {
            return Ok(());
        }
        let what = format!(
            "{field}: a key of all zeros means \"no key\" to a board; use 64 random hexadecimal \
             digits (`openssl rand -hex 32` makes some), or leave the key out"
        );
        Err(InvalidField::new(field, what))
    }
}

impl FromStr for SecretKey {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        let key = bytes_of(text).map(Self);
        let key = key.ok_or_else(|| InvalidField::new("key", KEY_DIGITS))?;
        key.check("key").map(|()| key)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// Hides the key in errors that name its field.
impl fmt::Display for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}

impl Serialize for SecretKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hexadecimal(&self.0))
    }
}

impl<'de> Deserialize<'de> for SecretKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let key = bytes_of(&text).map(Self);
        key.ok_or_else(|| serde::de::Error::custom(KEY_DIGITS))
    }
}

/// Reads hexadecimal digits, two for every byte.
pub(super) fn bytes_of<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if text.len() != 2 * N || !digits {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

const fn default_baud() -> u32 {
    921_600
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A client as the file has it, with the keys of every kind of link. Absent keys are not written.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fields {
    name: String,
    id: ClientId,
    pub(super) link: Kind,
    pub(super) chip: Option<Board>,
    pub(super) usb_serial: Option<String>,
    pub(super) path: Option<PathBuf>,
    #[serde(default = "default_baud")]
    baud: u32,
    pub(super) address: Option<String>,
    probe: Option<String>,
    pub(super) device: Option<ChipNumber>,
    pub(super) key: Option<SecretKey>,
    #[serde(default, skip_serializing_if = "is_zero")]
    key_generation: u32,
    next_key: Option<SecretKey>,
    storage_j: Option<f64>,
    capacitor_f: Option<f64>,
    #[serde(alias = "least_v")]
    min_v: Option<f64>,
    #[serde(alias = "most_v")]
    max_v: Option<f64>,
    leakage_w: Option<f64>,
    charge_efficiency: Option<f64>,
    stored_j: Option<f64>,
    preset: Option<String>,
    active_w: Option<f64>,
    clock_hz: Option<f64>,
    #[serde(skip_serializing)]
    profile: Option<PathBuf>,
}

impl Fields {
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// One client: its name, its link, its keys, and what is known of its energy. Energy keys that are
/// `None` are taken from the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The name in tables and on the command line.
    pub name: String,
    /// The client's number, from 0; decides which share of the data it owns.
    pub id: ClientId,
    /// How the base station reaches the client.
    pub link: Link,
    /// The board of a link that does not name one; needed to flash it.
    pub(super) board: Option<Board>,
    /// Bit rate of the line, which also sets the timeouts.
    pub baud: u32,
    /// The board's debug probe, as `vendor:product:serial`.
    pub probe: Option<String>,
    /// The secret in the board's shard, or a rotated one; a line without a key is not
    /// authenticated.
    pub key: Option<SecretKey>,
    /// Rotations of the key since the shard was written, as the board counts them.
    pub key_generation: u32,
    /// The key of an unfinished rotation, which the board may or may not hold already.
    pub next_key: Option<SecretKey>,
    /// Capacity of the energy store; 1000 J where the scenario has no store either.
    pub storage_j: Option<f64>,
    /// Capacitance of a store that is a capacitor, instead of `storage_j`.
    pub capacitor_f: Option<f64>,
    /// Voltage below which the board does not run.
    pub min_v: Option<f64>,
    /// Voltage up to which the capacitor is charged.
    pub max_v: Option<f64>,
    /// Self-discharge of the store, in watts.
    pub leakage_w: Option<f64>,
    /// Share of the harvested energy that reaches the store.
    pub charge_efficiency: Option<f64>,
    /// Energy in the store before round 1; by default it is full.
    pub stored_j: Option<f64>,
    /// Preset that gives the cost of computing.
    pub preset: Option<String>,
    /// Measured power while computing, in watts.
    pub active_w: Option<f64>,
    /// Clock at which `active_w` was measured, in hertz.
    pub clock_hz: Option<f64>,
    /// Measured profile that gives `active_w`. Only the power is written again, so that a copy of
    /// the file needs no other.
    pub(super) profile: Option<PathBuf>,
}

impl TryFrom<Fields> for Entry {
    type Error = InvalidField;

    fn try_from(mut fields: Fields) -> Result<Self, InvalidField> {
        let link = Link::read(&mut fields)?;
        Ok(Self {
            name: fields.name,
            id: fields.id,
            link,
            board: fields.chip,
            baud: fields.baud,
            probe: fields.probe,
            key: fields.key,
            key_generation: fields.key_generation,
            next_key: fields.next_key,
            storage_j: fields.storage_j,
            capacitor_f: fields.capacitor_f,
            min_v: fields.min_v,
            max_v: fields.max_v,
            leakage_w: fields.leakage_w,
            charge_efficiency: fields.charge_efficiency,
            stored_j: fields.stored_j,
            preset: fields.preset,
            active_w: fields.active_w,
            clock_hz: fields.clock_hz,
            profile: fields.profile,
        })
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = self.clone();
        let mut fields = Fields {
            name: entry.name,
            id: entry.id,
            link: Kind::Simulated,
            chip: entry.board,
            usb_serial: None,
            path: None,
            baud: entry.baud,
            address: None,
            probe: entry.probe,
            device: None,
            key: entry.key,
            key_generation: entry.key_generation,
            next_key: entry.next_key,
            storage_j: entry.storage_j,
            capacitor_f: entry.capacitor_f,
            min_v: entry.min_v,
            max_v: entry.max_v,
            leakage_w: entry.leakage_w,
            charge_efficiency: entry.charge_efficiency,
            stored_j: entry.stored_j,
            preset: entry.preset,
            active_w: entry.active_w,
            clock_hz: entry.clock_hz,
            profile: None,
        };
        self.link.write(&mut fields);
        fields.serialize(serializer)
    }
}

impl Entry {
    /// Returns a client with everything else at its default.
    #[must_use]
    pub fn new(name: impl Into<String>, id: u32, link: Link) -> Self {
        Self {
            name: name.into(),
            id: ClientId(id),
            link,
            board: None,
            baud: default_baud(),
            probe: None,
            key: None,
            key_generation: 0,
            next_key: None,
            storage_j: None,
            capacitor_f: None,
            min_v: None,
            max_v: None,
            leakage_w: None,
            charge_efficiency: None,
            stored_j: None,
            preset: None,
            active_w: None,
            clock_hz: None,
            profile: None,
        }
    }

    /// Names the board behind the link.
    #[must_use]
    pub fn with_board(self, board: Option<Board>) -> Self {
        Self { board, ..self }
    }

    /// Returns the board, if the file names it.
    #[must_use]
    pub fn board(&self) -> Option<Board> {
        self.link.emulated().or(self.board)
    }

    /// Replaces the link by the TCP server at `address`, and keeps the board.
    pub fn serve_at(&mut self, address: String) {
        self.board = self.board();
        self.link = Link::Tcp { address };
    }

    /// Returns the keys of the client's line.
    #[must_use]
    pub fn wire_keys(&self) -> HostKeys {
        HostKeys {
            key: self.key.map_or(Key::PUBLIC, |key| Key::new(key.0)),
            generation: self.key_generation,
            next: self.next_key.map(|key| Key::new(key.0)),
        }
    }

    /// Tells whether anybody can impersonate the client on its line: a board without a key.
    #[must_use]
    pub const fn is_unauthenticated(&self) -> bool {
        !self.link.is_simulated() && self.key.is_none()
    }

    /// Returns the timeouts of the client's line.
    #[must_use]
    pub const fn timing(&self) -> Timing {
        self.link.timing(self.baud)
    }

    /// Returns what it takes to open the client's line.
    #[must_use]
    pub fn access(&self) -> Access {
        self.link.access(self.baud)
    }

    /// Returns the place to connect to, if the file names one.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        match self.access() {
            Access::Connect(place) => Some(place),
            Access::Accept | Access::Emulate(_) | Access::Simulate => None,
        }
    }

    pub(super) fn place_text(&self) -> Option<String> {
        let place = self.place().filter(|_| !self.is_fresh());
        place.map(|place| place.to_string())
    }

    /// Tells whether the board's port is unknown: `gleaner flash` finds the board in boot mode,
    /// writes it, and adds its USB serial number to the file.
    #[must_use]
    pub const fn is_fresh(&self) -> bool {
        matches!(
            self.link,
            Link::Serial {
                usb_serial: None,
                path: None
            }
        )
    }

    pub(super) fn check(&self) -> Result<(), InvalidField> {
        for (field, key) in [("key", self.key), ("next_key", self.next_key)] {
            key.map_or(Ok(()), |key| key.check(field))?;
        }
        if self.key.is_none() && (self.next_key.is_some() || self.key_generation > 0) {
            let what = "key_generation and next_key need key beside them";
            return Err(InvalidField::new("key", what));
        }
        if self.name.chars().any(is_interpreted) {
            let what = format!(
                "name = {:?} has control characters, or marks that hide or reorder letters; use letters \
                 and digits",
                printable(&self.name)
            );
            return Err(InvalidField::new("name", what));
        }
        self.check_profile()?;
        if self.baud == 0 {
            let what = "baud = 0; boards use 921600 unless built otherwise";
            return Err(InvalidField::new("baud", what));
        }
        self.check_store()
    }
}
