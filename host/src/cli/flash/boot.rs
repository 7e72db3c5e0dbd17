//! Boards that are flashed as drives: restarted in boot mode over their lines, or by their button, and
//! identified by their USB serial number afterwards.

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

/// Pause between two checks.
const LOOK: Duration = Duration::from_millis(200);

/// Restarts a running board in boot mode and copies to its drive; no other board may be in boot mode.
pub(super) fn over_its_line(
    task: &FlashTask<'_>,
    kind: Uf2Drive,
    wait: Duration,
) -> anyhow::Result<()> {
    let name = &task.entry.name;
    outln!("{name}: restarting it in boot mode over its line");
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
    // The drive must be gone before the next board shows its own.
    until(wait, || (!drive.is_there()).then_some(()));
    Ok(())
}

/// Copies to the drive of a board whose port is unknown, and writes its USB serial number to the fleet
/// file after its restart.
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
        new_board(&before, &serial::found().ok()?, task.board)
    });
    let number = number.with_context(|| {
        format!(
            "it is flashed, but no new port of such a board appeared within {} s: put its number \
             into {} as usb_serial (`gleaner fleet init --out other.toml` lists it)",
            wait.as_secs(),
            file.display()
        )
    })?;
    KeyStore::open(file)?.set_usb_serial(name, &number)?;
    outln!("{name}: usb_serial = \"{number}\" is written to the fleet file");
    Ok(())
}

/// Returns the USB serial number of the only new board of a kind.
fn new_board(before: &[FoundPort], now: &[FoundPort], board: Board) -> Option<String> {
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

/// Repeats `look` until it returns a value or the time is up.
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
    fn the_only_new_board_is_found() {
        let (old, new, link) = (port(0x1209, "OLD"), port(0x1209, "NEW"), port(0x0483, "ST"));
        let seen = |now: &[FoundPort]| new_board(std::slice::from_ref(&old), now, Board::Rp2040);
        assert_eq!(seen(&[]), None, "not back yet");
        assert_eq!(seen(&[old.clone(), link.clone()]), None);
        let now = [link, old.clone(), new.clone()];
        assert_eq!(seen(&now), Some("NEW".to_owned()));
        let two = [new, port(0x1209, "TOO")];
        assert_eq!(seen(&two), None, "two new boards are ambiguous");
    }
}
