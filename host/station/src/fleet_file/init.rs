//! Generates a `fleet.toml` from the USB devices of this machine.

use super::keys::fresh_key;
use super::{Entry, FleetFile, Link};
use crate::demo;
use crate::device::Board;

/// A serial port of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPort {
    /// The path of the device file, or the name of the port.
    pub path: String,
    /// The USB device behind the port, if there is one.
    pub usb: Option<UsbDevice>,
}

/// The descriptor of a USB device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words of the USB standard")]
pub struct UsbDevice {
    pub vendor: u16,
    pub product: u16,
    pub serial_number: Option<String>,
}

/// Lists every USB serial port and every board in boot mode as a client, each with a fresh key,
/// below the preset that has the devices of all. The port of a board in boot mode is unknown until it is flashed.
///
/// # Errors
/// Returns an error if the system has no randomness for keys.
pub fn from_ports(ports: &[FoundPort], drives: &[Board]) -> Result<FleetFile, getrandom::Error> {
    let mut fleet = FleetFile::default();
    let usb_ports = ports
        .iter()
        .filter_map(|port| Some((port, port.usb.as_ref()?)));
    for (id, (port, usb)) in (0..).zip(usb_ports.clone()) {
        let board = Board::of_usb(usb.vendor, usb.product);
        let stem = board.map_or("board", |board| board.row().nickname);
        let of_one_number = usb_ports
            .clone()
            .filter(|(_, other)| other.serial_number == usb.serial_number);
        let needs_path = usb.serial_number.is_none() || of_one_number.count() > 1;
        let link = Link::Serial {
            usb_serial: usb.serial_number.clone(),
            path: needs_path.then(|| port.path.clone().into()),
        };
        let mut entry = Entry::new(format!("{stem}-{id}"), id, link).with_board(board);
        entry.key = Some(fresh_key()?);
        fleet.clients.push(entry);
    }
    for (id, &board) in (fleet.clients.len()..).zip(drives) {
        let name = format!("{}-{id}", board.row().nickname);
        let id = u32::try_from(id).unwrap_or(u32::MAX);
        let link = Link::Serial {
            usb_serial: None,
            path: None,
        };
        let mut entry = Entry::new(name, id, link).with_board(Some(board));
        entry.key = Some(fresh_key()?);
        fleet.clients.push(entry);
    }
    fleet.preset = Some(fleet.fitting_preset().to_owned());
    Ok(fleet)
}

/// Returns a fleet that runs without any hardware: two emulated boards and a simulated client.
#[must_use]
pub fn template() -> FleetFile {
    let emulated = |board| Link::Emulated { board };
    FleetFile {
        preset: Some(demo::PRESET.to_owned()),
        clients: vec![
            Entry::new("pico-0", 0, emulated(Board::Rp2040)),
            Entry::new("m4-1", 1, emulated(Board::M4)),
            Entry::new("simulated-2", 2, Link::Simulated),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// USB vendor and product of our own client on a Pico.
    const OUR_PICO: (u16, u16) = (0x1209, 0x0001);
    /// USB vendor of the Raspberry Pi.
    const RASPBERRY_PI: u16 = 0x2E8A;
    /// USB vendor of ST.
    const ST: u16 = 0x0483;

    fn port(path: &str, vendor: u16, number: Option<&str>) -> FoundPort {
        FoundPort {
            path: path.to_owned(),
            usb: Some(UsbDevice {
                vendor,
                product: 1,
                serial_number: number.map(str::to_owned),
            }),
        }
    }

    #[test]
    fn ports_become_clients_with_keys_of_their_own() {
        let ports = [
            port("/dev/ttyACM0", RASPBERRY_PI, Some("A")),
            port("/dev/ttyACM1", ST, Some("B")),
            port("/dev/ttyUSB0", 1, None),
            port("/dev/ttyACM2", OUR_PICO.0, Some("C")),
            FoundPort {
                path: "/dev/ttyS0".to_owned(),
                usb: None,
            },
        ];
        let fleet = from_ports(&ports, &[]).unwrap();
        let names: Vec<&str> = fleet
            .clients
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
        assert_eq!(names, ["pico-0", "nucleo-1", "board-2", "pico-3"]);
        assert_eq!(fleet.preset.as_deref(), Some("demo"));
        let serial = |number: Option<&str>, path: Option<&str>| Link::Serial {
            usb_serial: number.map(str::to_owned),
            path: path.map(Into::into),
        };
        assert_eq!(fleet.clients[0].link, serial(Some("A"), None));
        assert_eq!(fleet.clients[2].link, serial(None, Some("/dev/ttyUSB0")));
        assert_ne!(fleet.clients[0].key, fleet.clients[1].key);
        assert_eq!(FleetFile::parse(&fleet.to_toml(), "new").unwrap(), fleet);
    }

    #[test]
    fn two_ports_of_one_device_keep_their_paths() {
        let ports = [port("/dev/a", ST, Some("A")), port("/dev/b", ST, Some("A"))];
        let fleet = from_ports(&ports, &[]).unwrap();
        let has_path = |entry: &Entry| matches!(entry.link, Link::Serial { path: Some(_), .. });
        assert!(fleet.clients.iter().all(has_path));
        assert_eq!(FleetFile::parse(&fleet.to_toml(), "new").unwrap(), fleet);
    }

    #[test]
    fn the_template_is_a_good_fleet() {
        assert!(FleetFile::parse(&template().to_toml(), "new").is_ok());
    }

    #[test]
    fn boards_in_boot_mode_are_listed_behind_the_ports_with_keys_of_their_own() {
        let ports = [port("/dev/a", RASPBERRY_PI, Some("N"))];
        let fleet = from_ports(&ports, &[Board::Rp2040, Board::Rp2040]).unwrap();
        let names: Vec<&str> = fleet.clients.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["pico-0", "pico-1", "pico-2"]);
        assert_eq!(fleet.preset.as_deref(), Some("rp2040"));
        let fresh: Vec<bool> = fleet.clients.iter().map(Entry::is_fresh).collect();
        assert_eq!(fresh, [false, true, true]);
        assert_ne!(fleet.clients[1].key, fleet.clients[2].key);
        let again = FleetFile::parse(&fleet.to_toml(), "fleet.toml").unwrap();
        assert_eq!(again, fleet);
    }
}
