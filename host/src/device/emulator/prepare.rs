//! Having everything that emulated boards need before the first of them starts.

use std::io::stderr;
use std::process::Stdio;

use super::image::{EmulatedBoard, Program, cargo, is_strict};
use super::{EmulatorError, qemu, rp2040};

/// Has the emulators and images of `boards` ready: installs what is missing with
/// `cargo xtask setup`, builds what is not built, and says so on standard error. Under `CI=true`
/// nothing is installed or built.
///
/// # Errors
/// Names what is still missing and what to type.
pub fn prepare(boards: &[EmulatedBoard]) -> Result<(), EmulatorError> {
    let mut kinds = boards.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    if let Some(missing) = first_missing(&kinds)
        && !is_strict()
    {
        eprintln!("{missing}\nnow `cargo xtask setup` installs what is missing");
        // Whether it helped is seen below.
        let _ = cargo(&["xtask", "setup"])
            .stdout(Stdio::from(stderr()))
            .status();
        first_missing(&kinds).map_or(Ok(()), Err)?;
    }
    for board in kinds {
        if !is_strict() {
            let alias = board.board().alias(Program::Client);
            eprintln!("`cargo {alias}`: a minute or two if anything has changed");
        }
        board.ensure_image()?;
    }
    Ok(())
}

fn first_missing(kinds: &[EmulatedBoard]) -> Option<EmulatorError> {
    let check = |board: &EmulatedBoard| {
        board.ensure_target()?;
        match board {
            EmulatedBoard::Rp2040 => rp2040::ensure_installed(),
            EmulatedBoard::M4 => qemu::ensure_installed(),
        }
    };
    kinds.iter().find_map(|board| check(board).err())
}
