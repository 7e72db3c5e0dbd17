//! The workspace's tests: built once, run side by side.

mod binary;
mod crowd;

use std::process::Command;

use anyhow::{Result, bail};

use crate::count::Count;
use crate::{process, setup};
use crowd::Program;

/// The features everything is built with: all there are, so that the host is built once.
pub const FEATURES: [&str; 2] = ["--features", "gleaner-host/probe"];

/// The programs that take longest, which start first so that none is left alone at the end.
const LONGEST: [&str; 10] = [
    "gleaner-tests emulated",
    "gleaner-tests hil_emulated",
    "gleaner-host flash",
    "gleaner-host golden",
    "gleaner-tests hil_fleet",
    "gleaner-tests hil_doctor",
    "gleaner-host engines",
    "gleaner-host resume",
    "gleaner-host solvers",
    "emulator",
];

/// Builds all tests, runs their programs side by side and the examples in the documentation after
/// them; a failure stops nothing.
pub fn run(count: &mut Count) -> Result<()> {
    let mut programs = binary::build(&FEATURES)?;
    programs.extend(emulator()?);
    programs.extend(stm32());
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
fn emulator() -> Result<Option<Program>> {
    if !setup::emulator::runner_is_installed() {
        println!("tests of the emulator are not run: set-up says what is missing");
        return Ok(None);
    }
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=tap"]);
    node.args(setup::emulator::runner_tests()?);
    Ok(Some(Program {
        name: "emulator".to_owned(),
        command: node,
    }))
}

/// The tests of the STM32's emulator and of its table of cycles.
fn stm32() -> Option<Program> {
    let Some(python) = setup::python::of_emulator() else {
        println!("tests of the STM32's emulator are not run: set-up says what is missing");
        return None;
    };
    let mut python = Command::new(python);
    python.args(["-m", "unittest", "discover", "-s", setup::python::EMULATOR]);
    Some(Program {
        name: "emulator stm32".to_owned(),
        command: python,
    })
}
