//! Builds the wheel as `pip install .` does and runs the tests of the Python module with it.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::{process, setup};

/// Installs the wheel into the module's environment and runs its tests there.
pub fn test(each: impl FnMut(&str)) -> Result<()> {
    let Some(python) = setup::python::of_module() else {
        println!("the Python module is not tested: set-up printed what is missing");
        return Ok(());
    };
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--force-reinstall",
    ]);
    pip.args(["--no-build-isolation", "."]);
    // The builder is started by name.
    pip.env("PATH", path_with(python.parent())?);
    process::run(&mut pip)?;
    let mut tests = Command::new(&python);
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    process::run_reading(&mut tests, each)
}

/// The path programs are found on, with a folder before it.
fn path_with(first: Option<&Path>) -> Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = first.map(std::path::absolute).transpose()?;
    Ok(std::env::join_paths(
        first.into_iter().chain(std::env::split_paths(&path)),
    )?)
}
