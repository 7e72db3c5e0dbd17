//! Emulated boards: the firmware's images in rp2040js (RP2040), Unicorn (STM32L4R5) and QEMU
//! (Cortex-M4).
//!
//! An emulated board is a child process with its UART on a TCP port; the time of a
//! [`runner::Lockstep`] is under the caller's control, for tests that measure emulated time.

pub mod count;
pub mod figures;
mod kind;
pub mod line;
pub mod machine;
pub mod qemu;
pub mod runner;
pub mod trial;

use std::io::{Write, stderr};
use std::process::{Command, Stdio};

use gleaner_files::printable_lines;
use gleaner_shared::board::Shape;

use crate::device::Board;
use crate::device::image::{Program, cargo, is_strict, workspace};

pub use crate::device::error::EmulatorError;
pub use kind::Emulator;

/// Tells whether a program is installed and starts.
fn answers(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null());
    command.output().is_ok_and(|output| output.status.success())
}

/// Installs the missing emulators of `boards` with `cargo xtask setup` and builds their images for a
/// network, with messages on standard error. Under `CI=true` nothing is installed or built.
///
/// # Errors
/// Names what is still missing and the command that installs it.
pub fn prepare(boards: &[Board], network: Shape) -> Result<(), EmulatorError> {
    let mut kinds = boards.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    for board in &kinds {
        board.built_for(network)?;
    }
    if let Some(missing) = first_missing(&kinds)
        && !is_strict()
    {
        say(format_args!(
            "{missing}\n`cargo xtask setup` installs it now"
        ));
        // The check below decides whether it helped.
        let _ = cargo(&["xtask", "setup"])
            .stdout(Stdio::from(stderr()))
            .status();
        first_missing(&kinds).map_or(Ok(()), Err)?;
    }
    for board in kinds {
        if !is_strict() {
            let command = board.build_command(Program::Client);
            say(format_args!(
                "`{command}` for {network}: a minute or two if anything has changed"
            ));
        }
        board.ensure_for(Program::Client, network)?;
    }
    Ok(())
}

/// Prints to standard error; a closed one does not matter.
fn say(text: std::fmt::Arguments<'_>) {
    let text = text.to_string();
    let _ = writeln!(stderr(), "{}", printable_lines(&text));
}

fn first_missing(kinds: &[Board]) -> Option<EmulatorError> {
    let check = |board: &Board| {
        board.ensure_target()?;
        Emulator::of(*board)?.ensure_installed()
    };
    kinds.iter().find_map(|board| check(board).err())
}
