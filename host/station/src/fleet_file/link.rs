//! Links of a fleet file: how the base station reaches each client.
//!
//! To add a kind of link:
//! 1. here, add a variant of [`Link`] with the keys of its own, and follow the compiler through the
//!    `match`es of this file (`Link::read` and `Link::write` convert from and to the file's keys);
//! 2. if the base station opens the link itself, add a variant of [`Place`] and open it in
//!    `Endpoint::open` (`link/mod.rs`), with the driver in a file of its own beside `link/serial.rs`.
//!
//! All other code asks [`Link::access`] and the predicates below, and never names a kind.

use std::fmt;
use std::path::PathBuf;

use gleaner_shared::units::Micros;
use gleaner_shared::wire::link::Timing;
use gleaner_shared::wire::message::DeviceId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::InvalidField;
use super::entry::{Fields, bytes_of};
use crate::device::board::{self, Board};

/// Emulators run many times slower than boards: waits on their links are this much longer.
const EMULATION_PATIENCE: u64 = 12;

/// How the base station reaches a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// A serial port of this machine. Neither field is known of a board that still waits for its
    /// first firmware in boot mode.
    Serial {
        /// Serial number of the board's USB device.
        usb_serial: Option<String>,
        /// Path of the port, where the device has no number or several ports share one.
        path: Option<PathBuf>,
    },
    /// A TCP server, which the base station connects to.
    Tcp {
        /// The server as `host:port`.
        address: String,
    },
    /// A TCP client, which connects to the base station.
    Incoming {
        /// The chip's number, which identifies a board that has no key.
        device: Option<ChipNumber>,
    },
    /// An emulator that is started for the run.
    Emulated {
        /// The board to emulate.
        board: Board,
    },
    /// No link: the client is simulated in this process, in the firmware's arithmetic.
    Simulated,
}

/// Way to open a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Connect to this place.
    Connect(Place),
    /// Accept the client's own connection.
    Accept,
    /// Start an emulator, then connect to it.
    Emulate(Board),
    /// Nothing: the client is simulated.
    Simulate,
}

/// The word of the file for a kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Serial,
    Tcp,
    Incoming,
    Emulated,
    Simulated,
}

impl Link {
    /// Builds the link from the keys of the file.
    pub(super) fn read(fields: &mut Fields) -> Result<Self, InvalidField> {
        let link = match fields.link {
            Kind::Serial => {
                let has_drive = fields.chip.is_some_and(|it| it.row().boot_drive.is_some());
                if fields.usb_serial.is_none() && fields.path.is_none() && !has_drive {
                    let what = "link = \"serial\" needs usb_serial or path";
                    return Err(InvalidField::new("usb_serial", what));
                }
                Self::Serial {
                    usb_serial: fields.usb_serial.take(),
                    path: fields.path.take(),
                }
            }
            Kind::Tcp => {
                let Some(address) = fields.address.take() else {
                    let what = "link = \"tcp\" needs address = \"host:port\"";
                    return Err(InvalidField::new("address", what));
                };
                let port = address
                    .rsplit_once(':')
                    .map(|(_, port)| port.parse::<u16>());
                if !matches!(port, Some(Ok(_))) {
                    let what = format!("address = \"{address}\"; use \"host:port\"");
                    return Err(InvalidField::new("address", what));
                }
                Self::Tcp { address }
            }
            Kind::Incoming => {
                if fields.key.is_none() && fields.device.is_none() {
                    let what = "link = \"incoming\" needs key, which identifies the board that \
                                connects, or without keys device = \"24 hexadecimal digits\", the \
                                chip's number";
                    return Err(InvalidField::new("key", what));
                }
                Self::Incoming {
                    device: fields.device.take(),
                }
            }
            Kind::Emulated => {
                let board = fields.chip.filter(|it| it.row().emulator.is_some());
                let Some(board) = board else {
                    let chips = board::list(Board::emulated(), "or");
                    let what = format!("link = \"emulated\" needs chip = {chips}");
                    return Err(InvalidField::new("chip", what));
                };
                fields.chip = None;
                Self::Emulated { board }
            }
            Kind::Simulated => Self::Simulated,
        };
        // Keys that are still there belong to a link of another kind.
        for (is_left, field, what) in [
            (
                fields.usb_serial.is_some() || fields.path.is_some(),
                "usb_serial",
                "usb_serial and path belong to link = \"serial\"",
            ),
            (
                fields.address.is_some(),
                "address",
                "address belongs to link = \"tcp\"",
            ),
            (
                fields.device.is_some(),
                "device",
                "device belongs to link = \"incoming\"",
            ),
        ] {
            if is_left {
                return Err(InvalidField::new(field, what));
            }
        }
        Ok(link)
    }

    /// Sets the keys of the file.
    pub(super) fn write(&self, fields: &mut Fields) {
        fields.link = self.kind();
        match self {
            Self::Serial { usb_serial, path } => {
                fields.usb_serial.clone_from(usb_serial);
                fields.path.clone_from(path);
            }
            Self::Tcp { address } => fields.address = Some(address.clone()),
            Self::Incoming { device } => fields.device = *device,
            Self::Emulated { board } => fields.chip = Some(*board),
            Self::Simulated => {}
        }
    }

    const fn kind(&self) -> Kind {
        match self {
            Self::Serial { .. } => Kind::Serial,
            Self::Tcp { .. } => Kind::Tcp,
            Self::Incoming { .. } => Kind::Incoming,
            Self::Emulated { .. } => Kind::Emulated,
            Self::Simulated => Kind::Simulated,
        }
    }

    /// Returns the word of the file for this kind of link.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Serial { .. } => "serial",
            Self::Tcp { .. } => "tcp",
            Self::Incoming { .. } => "incoming",
            Self::Emulated { .. } => "emulated",
            Self::Simulated => "simulated",
        }
    }

    /// Returns what it takes to open the link; a serial port is opened at `baud`.
    #[must_use]
    pub fn access(&self, baud: u32) -> Access {
        match self {
            Self::Serial { usb_serial, path } => Access::Connect(Place::Serial(SerialAddress {
                usb_serial: usb_serial.clone(),
                path: path.clone(),
                baud,
            })),
            Self::Tcp { address } => Access::Connect(Place::Tcp(address.clone())),
            Self::Incoming { .. } => Access::Accept,
            Self::Emulated { board } => Access::Emulate(*board),
            Self::Simulated => Access::Simulate,
        }
    }

    /// Tells whether the client is simulated in this process.
    #[must_use]
    pub const fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulated)
    }

    /// Tells whether the client connects to the base station.
    #[must_use]
    pub const fn is_incoming(&self) -> bool {
        matches!(self, Self::Incoming { .. })
    }

    /// Returns the board to emulate, if the link is to an emulator.
    #[must_use]
    pub const fn emulated(&self) -> Option<Board> {
        match self {
            Self::Emulated { board } => Some(*board),
            _ => None,
        }
    }

    /// Tells whether the client is a board that exists apart from the run, and can be flashed.
    #[must_use]
    pub const fn is_hardware(&self) -> bool {
        !matches!(self, Self::Emulated { .. } | Self::Simulated)
    }

    /// Returns the number of the chip that connects, if the file names it.
    #[must_use]
    pub const fn device(&self) -> Option<ChipNumber> {
        match self {
            Self::Incoming { device } => *device,
            _ => None,
        }
    }

    /// Returns the timeouts of a link of `baud` bits per second. Emulators, and networks that may
    /// lead to one, have longer ones.
    #[must_use]
    pub const fn timing(&self, baud: u32) -> Timing {
        let timing = Timing::for_bit_rate(baud);
        match self {
            Self::Serial { .. } | Self::Simulated => timing,
            Self::Tcp { .. } | Self::Incoming { .. } | Self::Emulated { .. } => Timing {
                frame: Micros(timing.frame.0 * 4),
                retry: Micros(timing.retry.0 * 4),
                silence: Micros(timing.silence.0 * EMULATION_PATIENCE),
                stall: Micros(timing.stall.0 * EMULATION_PATIENCE),
                ..timing
            },
        }
    }

    /// Returns what usually helps if the link cannot be opened.
    #[must_use]
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::Tcp { .. } => "start the server at that address, or correct address",
            Self::Incoming { .. } => {
                "let the board connect to the address of --listen, with the key of fleet.toml"
            }
            Self::Emulated { .. } => "cargo xtask setup",
            Self::Serial { .. } | Self::Simulated => {
                "plug the board in, correct usb_serial or path, or get the right to open the port"
            }
        }
    }
}

/// A chip's number, written as 24 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipNumber(pub DeviceId);

impl fmt::Display for ChipNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for ChipNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ChipNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom("a chip's number has 24 hexadecimal digits");
        bytes_of(&text)
            .map(|number| Self(DeviceId(number)))
            .ok_or_else(wrong)
    }
}

/// A place the base station can connect to; `link::Endpoint` opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A serial port, by USB serial number or path.
    Serial(SerialAddress),
    /// A TCP server, as `host:port`.
    Tcp(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial(address) => address.fmt(f),
            Self::Tcp(address) => write!(f, "tcp {address}"),
        }
    }
}

/// How a serial port is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialAddress {
    /// The serial number of the USB device, which stays when the path changes.
    pub usb_serial: Option<String>,
    /// The path, for ports without a number; with a number, which of its ports is meant.
    pub path: Option<PathBuf>,
    /// Symbols per second; USB devices ignore it.
    pub baud: u32,
}

impl fmt::Display for SerialAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.usb_serial, &self.path) {
            (Some(number), Some(path)) => write!(f, "usb {number} at {}", path.display()),
            (Some(number), None) => write!(f, "usb {number}"),
            (None, Some(path)) => write!(f, "{}", path.display()),
            (None, None) => f.write_str("no address"),
        }
    }
}
