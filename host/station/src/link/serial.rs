//! Serial ports, found by USB serial number or path and opened exclusively. A number finds its
//! port again after the board was unplugged.

use tokio_serial::{
    SerialPort, SerialPortBuilderExt, SerialPortInfo, SerialPortType, SerialStream, UsbPortInfo,
};

use crate::fleet_file::{FoundPort, SerialAddress, UsbDevice};

/// Error opening a serial port.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the values in the message")]
pub enum SerialError {
    /// Neither a USB serial number nor a path is known.
    #[error("neither usb_serial nor path is known; `gleaner flash` finds a fresh board")]
    NoAddress,
    /// The path of a port does not exist.
    #[error("{path} does not exist")]
    NoSuchPath { path: String },
    /// No port with this USB serial number is plugged in.
    #[error("no port with usb_serial = \"{wanted}\"; plugged in: {present}")]
    Absent { wanted: String, present: String },
    /// Several ports have this USB serial number.
    #[error("several ports have usb_serial = \"{wanted}\": {candidates}; add path = to choose")]
    Ambiguous { wanted: String, candidates: String },
    /// The system cannot list its ports.
    #[error("cannot list the serial ports: {0}")]
    List(tokio_serial::Error),
    /// The port cannot be opened.
    #[error("{path}: {source}{}", hint(source))]
    Open {
        path: String,
        source: tokio_serial::Error,
    },
}

/// Returns what usually fixes a failure to open.
fn hint(error: &tokio_serial::Error) -> &'static str {
    match error.kind() {
        tokio_serial::ErrorKind::Io(std::io::ErrorKind::PermissionDenied) => {
            "; join the group that owns the port (dialout or uucp) and log in again"
        }
        tokio_serial::ErrorKind::NoDevice => "; is it plugged in, or open in another program?",
        _ => "",
    }
}

impl SerialAddress {
    /// Finds the port and opens it exclusively.
    ///
    /// # Errors
    /// Names the missing, busy or ambiguous port.
    pub fn open(&self) -> Result<SerialStream, SerialError> {
        let path = self.find()?;
        let mut port = tokio_serial::new(&path, self.baud)
            .open_native_async()
            .map_err(|source| SerialError::Open { path, source })?;
        raise_lines(&mut port);
        Ok(port)
    }

    /// Returns the current path of the port.
    ///
    /// # Errors
    /// Returns an error unless exactly one port matches.
    pub fn find(&self) -> Result<String, SerialError> {
        match (&self.usb_serial, &self.path) {
            (None, None) => Err(SerialError::NoAddress),
            (None, Some(path)) => Ok(path.display().to_string()),
            (Some(number), path) => {
                let ports = tokio_serial::available_ports().map_err(SerialError::List)?;
                let path = path.as_ref().map(|path| path.display().to_string());
                choose(&ports, number, path.as_deref())
            }
        }
    }
}

/// Raises DTR and RTS. A Pico on USB sends nothing before DTR is up; Linux and macOS raise it when a
/// port is opened, Windows does not. A port without such lines, such as a pseudo-terminal or a UART
/// of three wires, needs none.
fn raise_lines(port: &mut impl SerialPort) {
    let _ = port.write_data_terminal_ready(true);
    let _ = port.write_request_to_send(true);
}

/// Returns the serial ports of this machine.
///
/// # Errors
/// Returns an error if the system does not list them.
pub fn found() -> Result<Vec<FoundPort>, SerialError> {
    let ports = tokio_serial::available_ports().map_err(SerialError::List)?;
    let device = |usb: &UsbPortInfo| UsbDevice {
        vendor: usb.vid,
        product: usb.pid,
        serial_number: usb.serial_number.clone(),
    };
    let port = |port: SerialPortInfo| FoundPort {
        usb: usb(&port).map(device),
        path: port.port_name,
    };
    Ok(ports.into_iter().map(port).collect())
}

/// Returns the USB descriptor of a port.
const fn usb(port: &SerialPortInfo) -> Option<&UsbPortInfo> {
    match &port.port_type {
        SerialPortType::UsbPort(usb) => Some(usb),
        _ => None,
    }
}

/// Picks the port with a USB serial number; `path` decides between several.
fn choose(
    ports: &[SerialPortInfo],
    wanted: &str,
    path: Option<&str>,
) -> Result<String, SerialError> {
    let number = |port: &SerialPortInfo| usb(port).and_then(|usb| usb.serial_number.clone());
    let mut fitting: Vec<&str> = ports
        .iter()
        .filter(|port| number(port).as_deref() == Some(wanted))
        .map(|port| port.port_name.as_str())
        .collect();
    if let Some(path) = path.filter(|_| fitting.len() > 1) {
        fitting.retain(|name| *name == path);
    }
    match fitting[..] {
        [name] => Ok(name.to_owned()),
        [] => {
            let present: Vec<String> = ports
                .iter()
                .filter_map(|port| Some(format!("{} ({})", number(port)?, port.port_name)))
                .collect();
            Err(SerialError::Absent {
                wanted: wanted.to_owned(),
                present: match present[..] {
                    [] => "no USB serial port at all".to_owned(),
                    _ => present.join(", "),
                },
            })
        }
        _ => Err(SerialError::Ambiguous {
            wanted: wanted.to_owned(),
            candidates: fitting.join(", "),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, number: Option<&str>) -> SerialPortInfo {
        SerialPortInfo {
            port_name: name.to_owned(),
            port_type: SerialPortType::UsbPort(UsbPortInfo {
                vid: 0x2E8A,
                pid: 0x000A,
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
    fn a_number_finds_its_port_wherever_it_appears() {
        let ports = [
            port("/dev/ttyACM3", Some("B")),
            port("/dev/ttyACM0", Some("A")),
        ];
        assert_eq!(choose(&ports, "A", None).unwrap(), "/dev/ttyACM0");
        // An outdated path does not hide a unique number.
        assert_eq!(
            choose(&ports, "A", Some("/dev/ttyACM9")).unwrap(),
            "/dev/ttyACM0"
        );
    }

    #[test]
    fn two_ports_of_one_number_are_listed_until_a_path_decides() {
        let ports = [
            port("/dev/ttyACM0", Some("A")),
            port("/dev/ttyACM1", Some("A")),
        ];
        assert!(matches!(
            choose(&ports, "A", None),
            Err(SerialError::Ambiguous { candidates, .. }) if candidates == "/dev/ttyACM0, /dev/ttyACM1"
        ));
        assert_eq!(
            choose(&ports, "A", Some("/dev/ttyACM1")).unwrap(),
            "/dev/ttyACM1"
        );
    }

    #[test]
    fn a_missing_number_lists_the_ports() {
        let ports = [port("/dev/ttyACM0", Some("A")), port("/dev/ttyACM1", None)];
        assert!(matches!(
            choose(&ports, "Z", None),
            Err(SerialError::Absent { present, .. }) if present == "A (/dev/ttyACM0)"
        ));
    }
}
