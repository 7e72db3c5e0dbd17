//! Starts emulated boards for tests and skips tests whose emulator is missing.

use std::io::Write;
use std::panic::Location;
use std::path::{Path, PathBuf};

use gleaner_shared::board::Shape;
use gleaner_station::device::Board;
use gleaner_station::device::emulator::qemu::Qemu;
use gleaner_station::device::emulator::runner::{Lockstep, Served};
use gleaner_station::device::emulator::{Emulator, EmulatorError};
use gleaner_station::device::image::{Program, is_strict};
use tempfile::NamedTempFile;

use crate::wire::{LockstepWire, TcpWire};

/// Returns the value, or `None` where something is not installed, after [`skip`] has said so.
///
/// # Panics
/// On every other error, and under `CI=true` on a missing emulator as well.
#[track_caller]
pub fn available<T>(result: Result<T, EmulatorError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(missing @ EmulatorError::Missing { .. }) => {
            skip(&missing.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Reports the running test as skipped: one line with the test's name on standard error, past the
/// capture of the test harness. `cargo xtask test` counts these lines.
///
/// # Panics
/// Under `CI=true`, where every test must run.
#[track_caller]
pub fn skip(reason: &str) {
    assert!(!is_strict(), "{reason} (CI=true: every test must run)");
    let thread = std::thread::current();
    let test = match thread.name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => Location::caller().to_string(),
    };
    // One write, so that tests that run side by side do not mix their lines.
    let line = format!("skipped: {test}: {}\n", reason.replace('\n', " "));
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Returns the image of a board's program for the paper's network, or `None` if the test is skipped.
#[track_caller]
pub fn image(board: Board, program: Program) -> Option<PathBuf> {
    image_for(board, program, Shape::PAPER)
}

/// Returns the image of a board's program for a network, or `None` if the test is skipped. The
/// emulator is looked for first, because building an image takes minutes.
#[track_caller]
pub fn image_for(board: Board, program: Program, network: Shape) -> Option<PathBuf> {
    available(Emulator::of(board).and_then(Emulator::ensure_installed))?;
    available(board.ensure_for(program, network))
}

/// Starts an RP2040 in lockstep with this shard in its flash.
#[must_use]
pub fn on_rp2040(program: Program, shard: Option<&[u8]>) -> Option<LockstepWire> {
    in_lockstep(Board::Rp2040, program, shard, Lockstep::start)
}

/// Starts a board in lockstep with the client for a network.
#[must_use]
pub fn in_lockstep_for(board: Board, network: Shape, shard: &[u8]) -> Option<LockstepWire> {
    let image = image_for(board, Program::Client, network)?;
    let shard = temporary_file(shard);
    let started = Lockstep::start(board, &image, Some(shard.path()));
    Some(LockstepWire::new(available(started)?))
}

/// Starts an RP2040 in lockstep whose flash answers at once.
#[must_use]
pub fn on_rp2040_at_once(shard: &[u8]) -> Option<LockstepWire> {
    in_lockstep(
        Board::Rp2040,
        Program::Client,
        Some(shard),
        |board, image, shard| Lockstep::start_with_misses(board, image, shard, 0),
    )
}

/// Starts an STM32L4R5 in lockstep with this shard in its flash, whose waits are not counted.
#[must_use]
pub fn on_stm32(shard: Option<&[u8]>) -> Option<LockstepWire> {
    in_lockstep(Board::Stm32l4r5, Program::Client, shard, Lockstep::start)
}

/// The same without a crystal on its board.
#[must_use]
pub fn on_stm32_without_crystal() -> Option<LockstepWire> {
    let start = |board, image: &Path, shard: Option<&Path>| {
        Lockstep::with(board, image, shard, &["--lse-ms", "-1"])
    };
    in_lockstep(Board::Stm32l4r5, Program::Client, None, start)
}

/// Starts an RP2040 that is plugged into USB.
#[must_use]
pub fn on_rp2040_usb(shard: Option<&[u8]>) -> Option<LockstepWire> {
    in_lockstep(
        Board::Rp2040,
        Program::Client,
        shard,
        Lockstep::start_on_usb,
    )
}

fn in_lockstep(
    board: Board,
    program: Program,
    shard: Option<&[u8]>,
    start: fn(Board, &Path, Option<&Path>) -> Result<Lockstep, EmulatorError>,
) -> Option<LockstepWire> {
    let image = image(board, program)?;
    let shard = shard.map(temporary_file);
    let path = shard.as_ref().map(NamedTempFile::path);
    Some(LockstepWire::new(available(start(board, &image, path))?))
}

/// Starts a board in a runner of ours whose UART is a TCP port, as `gleaner` uses it.
#[must_use]
pub fn on_socket(board: Board, shard: Option<&[u8]>) -> Option<TcpWire<impl FnMut() + use<>>> {
    let image = image(board, Program::Client)?;
    let shard = shard.map(temporary_file);
    let path = shard.as_ref().map(NamedTempFile::path);
    let mut board = available(Served::start(board, &image, path))?;
    let link = board.link();
    Some(TcpWire::new(link, move || {
        board.reset().expect("the emulator runs");
    }))
}

/// Starts a Cortex-M4 with this shard in its memory.
#[must_use]
pub fn on_m4(program: Program, shard: Option<&[u8]>) -> Option<TcpWire<impl FnMut() + use<>>> {
    on_failing_m4(program, shard, 0)
}

/// The same, whose power fails inside an operation of its flash, counted from 1; 0 never does.
#[must_use]
pub fn on_failing_m4(
    program: Program,
    shard: Option<&[u8]>,
    operation: u32,
) -> Option<TcpWire<impl FnMut() + use<>>> {
    let image = image(Board::M4, program)?;
    let shard = shard.map(temporary_file);
    let path = shard.as_ref().map(NamedTempFile::path);
    let started = Qemu::start_failing(Board::M4, &image, path, operation);
    let mut board = available(started)?;
    let link = board.link();
    Some(TcpWire::new(link, move || {
        // The file is read again at every reset.
        let _keep = &shard;
        board.reset().expect("the emulator runs");
    }))
}

/// Writes a file that goes when it is dropped.
fn temporary_file(content: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(content).expect("room for temporary files");
    file
}
