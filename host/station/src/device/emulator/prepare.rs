//! Having everything that emulated boards need before the first of them starts.

use std::io::{Write, stderr};
use std::process::Stdio;

use gleaner_shared::board::Shape;

use super::{Emulator, EmulatorError};
use crate::device::Board;
use crate::device::image::{Program, cargo, is_strict};

/// Has the emulators of `boards`, and their images for a network, ready: installs what is missing with
/// `cargo xtask setup`, builds what is not built, and says so on standard error. Under `CI=true`
/// nothing is installed or built.
///
/// # Errors
/// Names what is still missing and what to type.
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
            "{missing}\nnow `cargo xtask setup` installs the emulators of these boards"
        ));
        // Whether it helped is seen below.
        let names = kinds.iter().map(|board| board.row().built.name);
        let words: Vec<&str> = ["xtask", "setup"].into_iter().chain(names).collect();
        let _ = cargo(&words).stdout(Stdio::from(stderr())).status();
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

/// Says something on standard error, if that takes it.
fn say(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(stderr(), "{text}");
}

fn first_missing(kinds: &[Board]) -> Option<EmulatorError> {
    let check = |board: &Board| {
        board.ensure_target()?;
        Emulator::of(*board)?.ensure_installed()
    };
    kinds.iter().find_map(|board| check(board).err())
}
