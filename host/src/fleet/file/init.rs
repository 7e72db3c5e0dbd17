//! A first `bench.toml`, from what is plugged in.

use tokio_serial::SerialPortInfo;

use super::Bench;
use super::entry::{Entry, LinkKind, SecretKey};
use crate::device::Board;
use crate::station::link::serial::usb;

/// Lists every USB serial port as a client, with a fresh key each.
///
/// # Errors
/// When the system has no randomness for keys.
pub fn from_ports(ports: &[SerialPortInfo]) -> Result<Bench, getrandom::Error> {
    let mut bench = Bench::default();
    let usb_ports = ports.iter().filter_map(|port| Some((port, usb(port)?)));
    for (id, (port, usb)) in (0..).zip(usb_ports) {
        let board = Board::of_usb(usb.vid, usb.pid);
        let stem = board.map_or("board", |board| board.row().nickname);
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        let mut entry = Entry::new(format!("{stem}-{id}"), id, LinkKind::Serial, board);
        entry.usb_serial.clone_from(&usb.serial_number);
        let shared = |other: &SerialPortInfo| {
            crate::station::link::serial::usb(other)
                .is_some_and(|other| other.serial_number == usb.serial_number)
        };
        if usb.serial_number.is_none() || ports.iter().filter(|port| shared(port)).count() > 1 {
            entry.path = Some(port.port_name.clone().into());
        }
        entry.key = Some(SecretKey(key));
        bench.clients.push(entry);
    }
    Ok(bench)
}

/// What to write where nothing is plugged in: a bench that runs anyway.
#[must_use]
pub fn template() -> Bench {
    let entry = |name: &str, id, link, board| Entry::new(name.to_owned(), id, link, board);
    Bench {
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
    use tokio_serial::{SerialPortType, UsbPortInfo};

    /// USB vendor and product of our own client on a Pico.
    const OUR_PICO: (u16, u16) = (0x1209, 0x0001);
    /// USB vendor of the Raspberry Pi.
    const RASPBERRY_PI: u16 = 0x2E8A;
    /// USB vendor of ST.
    const ST: u16 = 0x0483;

    fn port(name: &str, vid: u16, number: Option<&str>) -> SerialPortInfo {
        SerialPortInfo {
            port_name: name.to_owned(),
            port_type: SerialPortType::UsbPort(UsbPortInfo {
                vid,
                pid: 1,
                serial_number: number.map(str::to_owned),
                manufacturer: None,
                product: None,
                // probe-rs switches this field on.
                #[cfg(feature = "probe")]
                interface: None,
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
            SerialPortInfo {
                port_name: "/dev/ttyS0".to_owned(),
                port_type: SerialPortType::Unknown,
            },
        ];
        let bench = from_ports(&ports).unwrap();
        let names: Vec<&str> = bench
            .clients
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
        assert_eq!(names, ["pico-0", "nucleo-1", "board-2", "pico-3"]);
        assert_eq!(bench.clients[0].usb_serial.as_deref(), Some("A"));
        assert_eq!(bench.clients[0].path, None);
        assert_eq!(
            bench.clients[2].path.as_deref(),
            Some("/dev/ttyUSB0".as_ref())
        );
        assert_ne!(bench.clients[0].key, bench.clients[1].key);
        assert_eq!(Bench::parse(&bench.to_toml(), "new").unwrap(), bench);
    }

    #[test]
    fn two_ports_of_one_device_keep_their_paths() {
        let ports = [port("/dev/a", ST, Some("A")), port("/dev/b", ST, Some("A"))];
        let bench = from_ports(&ports).unwrap();
        assert!(bench.clients.iter().all(|entry| entry.path.is_some()));
        assert_eq!(Bench::parse(&bench.to_toml(), "new").unwrap(), bench);
    }

    #[test]
    fn the_template_is_a_good_bench() {
        assert!(Bench::parse(&template().to_toml(), "new").is_ok());
    }
}
