//! Where a client of a fleet is found, as data; `station::link` opens lines to it.

use std::fmt;
use std::path::PathBuf;

/// Where a client is found.
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
