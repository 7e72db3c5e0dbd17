//! Builds the workspace's tests once and runs their programs side by side.

mod binary;
mod parallel;

use std::process::Command;

use anyhow::{Result, bail};

use crate::count::Count;
use crate::{process, setup};
use parallel::Program;

/// The features everything is built with: all there are, so that the host is built once.
pub const FEATURES: [&str; 2] = ["--features", "gleaner-host/probe"];

/// The programs that take longest. They start first, so that none runs alone at the end.
const LONGEST: [&str; 8] = [
    "gleaner-tests emulated",
    "gleaner-tests station",
    "gleaner-host flash",
    "gleaner-host command",
    "gleaner-tests client",
    "gleaner-host engines",
    "gleaner-host library",
    "emulator",
];

/// The test program whose module `golden` compares digests, and the variable that names the program
/// to run. Users run the release build; plain `cargo test` checks the debug build.
const GOLDEN: (&str, &str) = ("gleaner-host command", "GLEANER_PROGRAM");

/// Builds the program that users run.
pub fn build_release() -> Result<()> {
    let mut cargo = process::cargo();
    cargo.args(["build", "--locked", "--release"]);
    process::run(cargo.args(["--package", "gleaner-host", "--bin", "gleaner"]))
}

/// Builds all tests, runs their programs side by side and the examples in the documentation after
/// them; a failure stops nothing.
pub fn run(count: &mut Count) -> Result<()> {
    build_release()?;
    let mut programs = binary::build(&FEATURES)?;
    let (golden, variable) = GOLDEN;
    if let Some(golden) = programs.iter_mut().find(|it| it.name == golden) {
        let release = crate::root().join("target/release/gleaner");
        golden.command.env(variable, release);
    }
    programs.extend(emulator()?);
    programs.extend(stm32());
    programs.sort_by_key(|program| {
        let place = LONGEST.iter().position(|name| *name == program.name);
        place.unwrap_or(LONGEST.len())
    });
    let mut failed = parallel::run(programs, count);

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

/// Returns the tests of our runner around rp2040js, if it is installed.
fn emulator() -> Result<Option<Program>> {
    if !setup::emulator::runner_is_installed() {
        println!("skipped: emulator: rp2040js or Node.js is missing");
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

/// Returns the tests of the STM32's emulator and of its table of cycles, if it is installed.
fn stm32() -> Option<Program> {
    let Some(python) = setup::python::of_emulator() else {
        println!("skipped: emulator stm32: the Unicorn engine is missing");
        return None;
    };
    let mut python = Command::new(python);
    python.args(["-m", "unittest", "discover", "-s", setup::python::EMULATOR]);
    Some(Program {
        name: "emulator stm32".to_owned(),
        command: python,
    })
}
