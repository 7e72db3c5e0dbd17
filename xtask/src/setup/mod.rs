//! Installs what the test suite or some emulated boards need.

mod apt;
pub mod emulator;
mod engines;
pub mod python;
mod room;
pub mod toolchain;

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::board::BOARDS;
use toolchain::DeviceToolchain;

/// Installs what the test suite needs. What cannot be installed is an error under `CI=true` and a
/// notice with the command to type elsewhere. The engines of sweeps are installed if they are
/// wanted, or under `CI=true`.
pub fn run(engines_wanted: bool) -> Result<DeviceToolchain> {
    room::remark();
    let toolchain = toolchain::prepare()?;
    emulator::prepare_qemu()?;
    emulator::prepare_rp2040js()?;
    python::prepare()?;
    engines::prepare(engines_wanted)?;
    Ok(toolchain)
}

/// Installs what emulating the boards with these chips needs, and nothing else.
pub fn for_boards(chips: &[String]) -> Result<()> {
    let mut triples = BTreeSet::new();
    for chip in chips {
        let Some(board) = BOARDS.iter().find(|board| board.name == chip) else {
            let known: Vec<&str> = BOARDS.iter().map(|board| board.name).collect();
            bail!("unknown board `{chip}`: choose from {}", known.join(", "));
        };
        triples.insert(board.triple);
    }
    toolchain::prepare_for(&triples)?;
    for chip in chips {
        match emulator::of(chip) {
            Some(emulator::Kind::Rp2040js) => emulator::prepare_rp2040js()?,
            Some(emulator::Kind::Qemu) => emulator::prepare_qemu()?,
            Some(emulator::Kind::Unicorn) => python::prepare_emulator()?,
            None => println!("setup: nothing emulates {chip}"),
        }
    }
    Ok(())
}

/// Tells whether nothing may be skipped.
pub fn strict() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Reports what cannot be installed: as an error where nothing may be skipped, as a notice elsewhere.
fn missing(what: &str) -> Result<()> {
    if strict() {
        bail!("{what} (CI=true: nothing may be skipped)");
    }
    println!("setup: {what}; tests that need it will be skipped");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_board_with_a_self_test_has_an_emulator_to_install() {
        for board in BOARDS.iter().filter(|board| board.self_test) {
            assert!(emulator::of(board.name).is_some(), "{}", board.name);
        }
        assert!(for_boards(&["avr".to_owned()]).is_err());
    }
}
