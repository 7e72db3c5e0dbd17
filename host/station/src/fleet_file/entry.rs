//! One client of a fleet.

use gleaner_sim::ClientId;
use std::fmt;
use std::path::PathBuf;

use gleaner_files::hexadecimal;
use gleaner_shared::wire::link::Timing;
use gleaner_shared::wire::{HostKeys, Key};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::address::{Place, SerialAddress};
use super::chip::ChipNumber;
use crate::device::board::{self, Board};

/// Emulators run many times slower than boards: waits on their lines are this much longer.
const EMULATION_PATIENCE: u64 = 12;

/// How a client is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// A serial port.
    Serial,
    /// A TCP server.
    Tcp,
    /// A TCP client: it calls the base station.
    Incoming,
    /// An emulator that is started for the run.
    Emulated,
    /// In the base station's own process, in the firmware's arithmetic.
    Simulated,
}

impl LinkKind {
    /// Returns the word that stands for it in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Tcp => "tcp",
            Self::Incoming => "incoming",
            Self::Emulated => "emulated",
            Self::Simulated => "simulated",
        }
    }
}

/// 32 bytes written as hexadecimal digits; not shown in debug output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretKey(pub [u8; 32]);

impl SecretKey {
    /// Makes sure that boards take it for a key.
    ///
    /// # Errors
    /// Says why they do not.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.0 != [0; 32] {
            return Ok(());
        }
        Err(
            "a key of all zeros means \"no key\" to a board; use 64 random hexadecimal digits \
             (`openssl rand -hex 32` makes some), or leave the key out",
        )
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
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
        let wrong = || serde::de::Error::custom("a key has 64 hexadecimal digits");
        bytes_of(&text).map(Self).ok_or_else(wrong)
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

/// For errors that name a key: they say whose it is instead.
impl fmt::Display for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}

const fn default_baud() -> u32 {
    921_600
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One client: who it is, how it is reached, what its store holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What people call it.
    pub name: String,
    /// Its number among the clients, from 0.
    pub id: ClientId,
    /// How it is reached.
    pub link: LinkKind,
    /// The board it runs on, by its chip; needed to emulate or flash it.
    #[serde(default, rename = "chip", skip_serializing_if = "Option::is_none")]
    pub board: Option<Board>,
    /// Serial number of its USB device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usb_serial: Option<String>,
    /// Path of its port, where it has no number or several ports share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Speed of its port.
    #[serde(default = "default_baud")]
    pub baud: u32,
    /// `host:port` of its TCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its debug probe, as `vendor:product:serial`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
    /// The number of its chip, as 24 hexadecimal digits: how a board without a key is found among
    /// those that call in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<ChipNumber>,
    /// Its secret, the one in its shard until it is rotated; without one the line is not
    /// authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<SecretKey>,
    /// How often its key was rotated since its shard was written, as the board counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub key_generation: u32,
    /// The key that is being handed over to it; it may or may not hold it already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_key: Option<SecretKey>,
    /// What its store can hold, in joules; by default what the scenario says, and 1000 where it has
    /// no store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_j: Option<f64>,
    /// Its capacitance, in farads, of a store that is a capacitor, instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacitor_f: Option<f64>,
    /// The voltage below which it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_v: Option<f64>,
    /// The voltage above which its capacitor is not charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_v: Option<f64>,
    /// What its store loses by itself, in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leakage_w: Option<f64>,
    /// Share of what it harvests that arrives in its store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge_efficiency: Option<f64>,
    /// What its store holds before round 1, in joules; by default all it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_j: Option<f64>,
    /// The preset that says what its computing costs; by default the scenario does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Its measured power while it computes, in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_w: Option<f64>,
    /// The clock at which that power was measured, in hertz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_hz: Option<f64>,
    /// A measured profile to take that power from; kept as the power alone, so that a copy of the
    /// list needs no other file.
    #[serde(default, skip_serializing)]
    pub profile: Option<PathBuf>,
}

impl Entry {
    /// A client with everything else at its default.
    #[must_use]
    pub fn new(name: String, id: u32, link: LinkKind, board: Option<Board>) -> Self {
        Self {
            name,
            id: ClientId(id),
            link,
            board,
            usb_serial: None,
            path: None,
            baud: default_baud(),
            address: None,
            probe: None,
            device: None,
            key: None,
            key_generation: 0,
            next_key: None,
            storage_j: None,
            capacitor_f: None,
            least_v: None,
            most_v: None,
            leakage_w: None,
            charge_efficiency: None,
            stored_j: None,
            preset: None,
            active_w: None,
            clock_hz: None,
            profile: None,
        }
    }

    /// Returns the keys of its line.
    #[must_use]
    pub fn wire_keys(&self) -> HostKeys {
        HostKeys {
            key: self.key.map_or(Key::PUBLIC, |key| Key::new(key.0)),
            generation: self.key_generation,
            next: self.next_key.map(|key| Key::new(key.0)),
        }
    }

    /// Says whether it is on a line that anybody may speak on: a board without a key.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.link != LinkKind::Simulated && self.key.is_none()
    }

    /// Returns its board, where there is an emulator for it.
    #[must_use]
    pub fn emulated(&self) -> Option<Board> {
        self.board.filter(|board| board.row().emulator.is_some())
    }

    /// Returns how long to wait for what on its line.
    #[must_use]
    pub const fn timing(&self) -> Timing {
        let timing = Timing::for_bit_rate(self.baud);
        match self.link {
            LinkKind::Serial | LinkKind::Simulated => timing,
            LinkKind::Tcp | LinkKind::Incoming | LinkKind::Emulated => patient(timing),
        }
    }

    /// Returns where it is; emulated boards are wherever their emulator starts, and those that call
    /// in are wherever they are.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        match self.link {
            LinkKind::Serial => Some(Place::Serial(SerialAddress {
                usb_serial: self.usb_serial.clone(),
                path: self.path.clone(),
                baud: self.baud,
            })),
            LinkKind::Tcp => self.address.clone().map(Place::Tcp),
            LinkKind::Incoming | LinkKind::Emulated | LinkKind::Simulated => None,
        }
    }

    pub(super) fn place_text(&self) -> Option<String> {
        let place = self.place().filter(|_| !self.is_fresh());
        place.map(|place| place.to_string())
    }

    /// Says whether nobody knows its port yet: `gleaner flash` finds it in boot mode, writes it, and
    /// learns its number.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        let has_drive = self.board.is_some_and(|it| it.row().boot_drive.is_some());
        let placed = self.usb_serial.is_some() || self.path.is_some();
        self.link == LinkKind::Serial && has_drive && !placed
    }

    fn has_port(&self) -> bool {
        let address = self.address.as_deref().unwrap_or_default();
        let port = address
            .rsplit_once(':')
            .map(|(_, port)| port.parse::<u16>());
        matches!(port, Some(Ok(_)))
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let serial = self.usb_serial.is_some() || self.path.is_some();
        match self.link {
            LinkKind::Serial if !serial && !self.is_fresh() => {
                return Err("link = \"serial\" needs usb_serial or path".to_owned());
            }
            LinkKind::Tcp if self.address.is_none() => {
                return Err("link = \"tcp\" needs address = \"host:port\"".to_owned());
            }
            LinkKind::Tcp if !self.has_port() => {
                let address = self.address.as_deref().unwrap_or_default();
                return Err(format!("address = \"{address}\"; use \"host:port\""));
            }
            LinkKind::Incoming if self.key.is_none() && self.device.is_none() => {
                return Err(
                    "link = \"incoming\" needs key, by which a board that calls in is \
                     found, or without keys device = \"24 hexadecimal digits\", the chip's number"
                        .to_owned(),
                );
            }
            LinkKind::Emulated if self.emulated().is_none() => {
                let chips = board::list(Board::emulated(), "or");
                return Err(format!("link = \"emulated\" needs chip = {chips}"));
            }
            _ => {}
        }
        if self.link != LinkKind::Serial && serial {
            return Err("usb_serial and path belong to link = \"serial\"".to_owned());
        }
        if self.link != LinkKind::Tcp && self.address.is_some() {
            return Err("address belongs to link = \"tcp\"".to_owned());
        }
        if self.link != LinkKind::Incoming && self.device.is_some() {
            return Err("device belongs to link = \"incoming\"".to_owned());
        }
        for (field, key) in [("key", self.key), ("next_key", self.next_key)] {
            if let Some(Err(reason)) = key.map(|key| key.check()) {
                return Err(format!("{field}: {reason}"));
            }
        }
        if self.key.is_none() && (self.next_key.is_some() || self.key_generation > 0) {
            return Err("key_generation and next_key need key beside them".to_owned());
        }
        self.check_profile()?;
        if self.baud == 0 {
            return Err("baud = 0; boards speak 921600 unless built otherwise".to_owned());
        }
        self.check_store()
    }
}

/// Stretches every wait.
const fn patient(timing: Timing) -> Timing {
    use gleaner_shared::units::Micros;
    Timing {
        frame: Micros(timing.frame.0 * 4),
        retry: Micros(timing.retry.0 * 4),
        silence: Micros(timing.silence.0 * EMULATION_PATIENCE),
        stall: Micros(timing.stall.0 * EMULATION_PATIENCE),
        ..timing
    }
}
