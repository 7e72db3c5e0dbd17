//! Boards that are written as drives: sent into boot mode over their lines, or held there by
//! somebody's finger, and known by their USB serial number once they are back.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::super::fleet::bootsel;
use super::{FlashTask, copy};
use gleaner_station::device::Board;
use gleaner_station::device::flash::FlashError;
use gleaner_station::device::flash::drive::BootDrive;
use gleaner_station::device::row::Uf2Drive;
use gleaner_station::fleet_file::{FoundPort, KeyStore};
use gleaner_station::link::serial;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(200);

/// Sends a running board into boot mode, where no board may be, and copies to its drive.
pub(super) fn over_its_line(
    task: &FlashTask<'_>,
    kind: Uf2Drive,
    wait: Duration,
) -> anyhow::Result<()> {
    let name = &task.entry.name;
    outln!("{name}: sending it into boot mode over its line");
    bootsel::send(task.entry, wait)?;
    let drive = until(wait, || match BootDrive::find(kind) {
        Err(FlashError::NoDrive(_)) => None,
        found => Some(found),
    });
    let drive = drive.with_context(|| {
        format!(
            "it went into boot mode, but its drive {} did not appear within {} s: mount it and run \
             this again",
            kind.label,
            wait.as_secs()
        )
    })??;
    copy(&drive, kind, task)?;
    // The next one may show its drive when this one is gone.
    until(wait, || (!drive.is_there()).then_some(()));
    Ok(())
}

/// Copies to the drive of a board whose port nobody knows, and writes its number into the list when
/// it is back.
pub(super) fn fresh(
    task: &FlashTask<'_>,
    (drive, kind): (&BootDrive, Uf2Drive),
    file: &Path,
    wait: Duration,
) -> anyhow::Result<()> {
    let name = &task.entry.name;
    let before = serial::found()?;
    copy(drive, kind, task)?;
    let number = until(wait, || {
        newcomer(&before, &serial::found().ok()?, task.board)
    });
    let number = number.with_context(|| {
        format!(
            "it was written, but no new port of such a board appeared within {} s: put its number \
             into {} as usb_serial (`gleaner fleet init --out other.toml` lists it)",
            wait.as_secs(),
            file.display()
        )
    })?;
    KeyStore::open(file)?.set_usb_serial(name, &number)?;
    outln!("{name}: it is usb_serial = \"{number}\" from now on");
    Ok(())
}

/// Returns the number of the one board of a kind that was not there before.
fn newcomer(before: &[FoundPort], now: &[FoundPort], board: Board) -> Option<String> {
    let mut numbers: Vec<&String> = now
        .iter()
        .filter(|port| !before.contains(port))
        .filter_map(|port| port.usb.as_ref())
        .filter(|usb| Board::of_usb(usb.vendor, usb.product) == Some(board))
        .filter_map(|usb| usb.serial_number.as_ref())
        .collect();
    numbers.dedup();
    match numbers[..] {
        [number] => Some(number.clone()),
        _ => None,
    }
}

/// Looks again and again until something is found or the time is up.
fn until<T>(wait: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if begin.elapsed() >= wait {
            return None;
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_station::fleet_file::UsbDevice;

    fn port(vendor: u16, number: &str) -> FoundPort {
        FoundPort {
            path: format!("/dev/{number}"),
            usb: Some(UsbDevice {
                vendor,
                product: 1,
                serial_number: Some(number.to_owned()),
            }),
        }
    }

    #[test]
    fn the_board_that_came_is_known_and_others_are_not_taken_for_it() {
        let (old, new, link) = (port(0x1209, "OLD"), port(0x1209, "NEW"), port(0x0483, "ST"));
        let seen = |now: &[FoundPort]| newcomer(std::slice::from_ref(&old), now, Board::Rp2040);
        assert_eq!(seen(&[]), None, "it is not back yet");
        assert_eq!(seen(&[old.clone(), link.clone()]), None);
        let now = [link, old.clone(), new.clone()];
        assert_eq!(seen(&now), Some("NEW".to_owned()));
        let two = [new, port(0x1209, "TOO")];
        assert_eq!(seen(&two), None, "nobody knows which of two it is");
    }
}
