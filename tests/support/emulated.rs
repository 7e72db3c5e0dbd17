//! What the tests of emulated boards share.

use std::io::Write;
use std::path::Path;

use gleaner_shared::board::Shape;
use gleaner_station::device::Board;
use gleaner_station::device::emulator::EmulatorError;
use gleaner_station::device::emulator::qemu::Qemu;
use gleaner_station::device::emulator::runner::{Lockstep, Served};
use gleaner_station::device::image::{Program, is_strict};
use tempfile::NamedTempFile;

use crate::wire::{LockstepWire, TcpWire};

/// Returns what is there. What is missing is a failure under `CI=true`; elsewhere it is said
/// loudly and the test passes as skipped.
///
/// # Panics
/// With the error, unless it only says that something is not installed.
#[track_caller]
pub fn available<T>(result: Result<T, EmulatorError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(missing @ EmulatorError::Missing { .. }) if !is_strict() => {
            eprintln!("\n*** SKIPPED: {missing} (`cargo xtask setup` installs all of it) ***\n");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Starts an RP2040 in lockstep with this shard in its flash.
#[must_use]
pub fn on_rp2040(program: Program, shard: Option<&[u8]>) -> Option<LockstepWire> {
    in_lockstep(Board::Rp2040, program, shard, Lockstep::start)
}

/// Starts a board in lockstep with the client for a network.
#[must_use]
pub fn in_lockstep_for(board: Board, network: Shape, shard: &[u8]) -> Option<LockstepWire> {
    let image = available(board.ensure_for(Program::Client, network))?;
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
    let image = available(board.ensure(program))?;
    let shard = shard.map(temporary_file);
    let path = shard.as_ref().map(NamedTempFile::path);
    Some(LockstepWire::new(available(start(board, &image, path))?))
}

/// Starts a board in a runner of ours whose UART is a TCP port, as `gleaner` uses it.
#[must_use]
pub fn on_socket(board: Board, shard: Option<&[u8]>) -> Option<TcpWire<impl FnMut() + use<>>> {
    let image = available(board.ensure(Program::Client))?;
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
    let image = available(Board::M4.ensure(program))?;
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
