//! A first `fleet.toml`, from what is plugged in.

use super::FleetFile;
use super::entry::{Entry, LinkKind};
use super::keys::fresh_key;
use crate::device::Board;

/// A serial port of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPort {
    /// Its path.
    pub path: String,
    /// The USB device it belongs to, if it does.
    pub usb: Option<UsbDevice>,
}

/// What a USB device says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsbDevice {
    /// Number of its vendor.
    pub vendor: u16,
    /// Number of the product.
    pub product: u16,
    /// Its serial number, if it has one.
    pub serial_number: Option<String>,
}

/// Lists every USB serial port as a client, and every board in boot mode, with a fresh key each.
/// The ports of the latter are not known before they are written.
///
/// # Errors
/// When the system has no randomness for keys.
pub fn from_ports(ports: &[FoundPort], drives: &[Board]) -> Result<FleetFile, getrandom::Error> {
    let mut fleet = FleetFile::default();
    let usb_ports = ports
        .iter()
        .filter_map(|port| Some((port, port.usb.as_ref()?)));
    for (id, (port, usb)) in (0..).zip(usb_ports.clone()) {
        let board = Board::of_usb(usb.vendor, usb.product);
        let stem = board.map_or("board", |board| board.row().nickname);
        let mut entry = Entry::new(format!("{stem}-{id}"), id, LinkKind::Serial, board);
        entry.usb_serial.clone_from(&usb.serial_number);
        let of_one_number = usb_ports
            .clone()
            .filter(|(_, other)| other.serial_number == usb.serial_number);
        if usb.serial_number.is_none() || of_one_number.count() > 1 {
            entry.path = Some(port.path.clone().into());
        }
        entry.key = Some(fresh_key()?);
        fleet.clients.push(entry);
    }
    for (id, &board) in (fleet.clients.len()..).zip(drives) {
        let name = format!("{}-{id}", board.row().nickname);
        let id = u32::try_from(id).unwrap_or(u32::MAX);
        let mut entry = Entry::new(name, id, LinkKind::Serial, Some(board));
        entry.key = Some(fresh_key()?);
        fleet.clients.push(entry);
    }
    Ok(fleet)
}

/// What to write where nothing is plugged in: a fleet that runs anyway.
#[must_use]
pub fn template() -> FleetFile {
    let entry = |name: &str, id, link, board| Entry::new(name.to_owned(), id, link, board);
    FleetFile {
        clients: vec![
            entry("pico-0", 0, LinkKind::Emulated, Some(Board::Rp2040)),
            entry("m4-1", 1, LinkKind::Emulated, Some(Board::M4)),
            entry("simulated-2", 2, LinkKind::Simulated, None),
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
        assert_eq!(fleet.clients[0].usb_serial.as_deref(), Some("A"));
        assert_eq!(fleet.clients[0].path, None);
        assert_eq!(
            fleet.clients[2].path.as_deref(),
            Some("/dev/ttyUSB0".as_ref())
        );
        assert_ne!(fleet.clients[0].key, fleet.clients[1].key);
        assert_eq!(FleetFile::parse(&fleet.to_toml(), "new").unwrap(), fleet);
    }

    #[test]
    fn two_ports_of_one_device_keep_their_paths() {
        let ports = [port("/dev/a", ST, Some("A")), port("/dev/b", ST, Some("A"))];
        let fleet = from_ports(&ports, &[]).unwrap();
        assert!(fleet.clients.iter().all(|entry| entry.path.is_some()));
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
        let fresh: Vec<bool> = fleet.clients.iter().map(Entry::is_fresh).collect();
        assert_eq!(fresh, [false, true, true]);
        assert_ne!(fleet.clients[1].key, fleet.clients[2].key);
        let again = FleetFile::parse(&fleet.to_toml(), "fleet.toml").unwrap();
        assert_eq!(again, fleet);
    }
}
