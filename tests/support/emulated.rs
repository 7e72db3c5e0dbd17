//! What the tests of emulated boards share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use gleaner_host::device::Board;
use gleaner_host::device::emulator::EmulatorError;
use gleaner_host::device::emulator::qemu::Qemu;
use gleaner_host::device::emulator::rp2040::{Lockstep, Rp2040};
use gleaner_host::device::image::{Program, is_strict};

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
    in_lockstep(program, shard, Lockstep::start)
}

/// The same, plugged into USB.
#[must_use]
pub fn on_rp2040_usb(shard: Option<&[u8]>) -> Option<LockstepWire> {
    in_lockstep(Program::Client, shard, Lockstep::start_on_usb)
}

fn in_lockstep(
    program: Program,
    shard: Option<&[u8]>,
    start: fn(Board, &Path, Option<&Path>) -> Result<Lockstep, EmulatorError>,
) -> Option<LockstepWire> {
    let image = available(Board::Rp2040.ensure(program))?;
    let shard = shard.map(TemporaryFile::new);
    let path = shard.as_ref().map(TemporaryFile::path);
    Some(LockstepWire::new(available(start(
        Board::Rp2040,
        &image,
        path,
    ))?))
}

/// Starts an RP2040 whose UART is a TCP port, as `gleaner` uses it.
#[must_use]
pub fn on_rp2040_socket(shard: Option<&[u8]>) -> Option<TcpWire<impl FnMut() + use<>>> {
    let image = available(Board::Rp2040.ensure(Program::Client))?;
    let shard = shard.map(TemporaryFile::new);
    let path = shard.as_ref().map(TemporaryFile::path);
    let mut board = available(Rp2040::start(Board::Rp2040, &image, path))?;
    let link = board.link();
    Some(TcpWire::new(link, move || {
        board.reset().expect("the emulator runs");
    }))
}

/// Starts a Cortex-M4 with this shard in its memory.
#[must_use]
pub fn on_m4(program: Program, shard: Option<&[u8]>) -> Option<TcpWire<impl FnMut() + use<>>> {
    let image = available(Board::M4.ensure(program))?;
    let shard = shard.map(TemporaryFile::new);
    let path = shard.as_ref().map(TemporaryFile::path);
    let mut board = available(Qemu::start(Board::M4, &image, path))?;
    let link = board.link();
    Some(TcpWire::new(link, move || {
        // The file is read again at every reset.
        let _keep = &shard;
        board.reset().expect("the emulator runs");
    }))
}

/// A file that goes when it is dropped.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(content: &[u8]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("gleaner-{}-{number}.bin", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).expect("the temporary folder takes files");
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
