//! The workspace's tests: built once, run side by side.

mod binary;
mod crowd;

use std::process::Command;

use anyhow::{Result, bail};

use crate::count::Count;
use crate::{process, setup};
use crowd::Program;

/// The features everything is built with: all there are, so that the host is built once.
pub const FEATURES: [&str; 2] = [
    "--features",
    "gleaner-firmware/bench-ciphers,gleaner-host/probe",
];

/// The programs that take longest, which start first so that none is left alone at the end.
const LONGEST: [&str; 9] = [
    "gleaner-tests emulated",
    "gleaner-tests hil_emulated",
    "gleaner-host flash",
    "gleaner-host golden",
    "gleaner-tests hil_fleet",
    "gleaner-tests hil_doctor",
    "gleaner-host resume",
    "gleaner-host solvers",
    "emulator",
];

/// Builds all tests, runs their programs side by side and the examples in the documentation after
/// them; a failure stops nothing.
pub fn run(count: &mut Count) -> Result<()> {
    let mut programs = binary::build(&FEATURES)?;
    programs.extend(emulator());
    programs.extend(cycles());
    programs.sort_by_key(|program| {
        let place = LONGEST.iter().position(|name| *name == program.name);
        place.unwrap_or(LONGEST.len())
    });
    let mut failed = crowd::run(programs, count);

    let mut examples = process::cargo();
    examples.args(["test", "--locked", "--workspace", "--doc", "--no-fail-fast"]);
    if process::run_reading(examples.args(FEATURES), |line| count.read(line)).is_err() {
        failed.push("examples in the documentation".to_owned());
    }
    if !failed.is_empty() {
        bail!("tests failed: {}", failed.join(", "));
    }
    Ok(())
}

/// The tests of our part of the RP2040's emulator.
fn emulator() -> Option<Program> {
    if !setup::emulator::runner_is_installed() {
        println!("tests of the emulator are not run: set-up says what is missing");
        return None;
    }
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=tap"]);
    node.arg("emulator/test/machine.test.js");
    Some(Program {
        name: "emulator".to_owned(),
        command: node,
    })
}

/// The tests of the Cortex-M4's table of cycles, which need Python and nothing else.
fn cycles() -> Option<Program> {
    if !process::exists("python3") {
        println!("tests of the table of cycles are not run: install Python 3");
        return None;
    }
    let mut python = Command::new("python3");
    python.args(["-m", "unittest", "discover", "-s", "emulator/stm32"]);
    python.args(["-p", "test_cycles.py"]);
    Some(Program {
        name: "emulator cycles".to_owned(),
        command: python,
    })
}
