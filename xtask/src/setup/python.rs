//! Python for the example client of `docs/examples`, which speaks the protocol without our code.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::process;
use crate::setup::{apt, missing};

/// The example's folder, its environment and what that must hold.
const EXAMPLES: &str = "docs/examples";
const ENVIRONMENT: &str = "docs/examples/.venv";
const REQUIREMENTS: &str = "docs/examples/requirements.txt";

/// Makes the environment the example runs in.
pub fn prepare() -> Result<()> {
    if is_ready() {
        println!("setup: Python of {EXAMPLES} is installed");
        return Ok(());
    }
    match install() {
        Ok(()) => Ok(()),
        Err(error) => missing(&format!(
            "{error:#}; install Python 3 with venv, then `python3 -m venv {ENVIRONMENT}` and \
             `{ENVIRONMENT}/bin/pip install -r {REQUIREMENTS}`"
        )),
    }
}

fn is_ready() -> bool {
    let mut python = Command::new(Path::new(ENVIRONMENT).join("bin/python"));
    process::output(python.args(["-c", "import numpy, blake3"])).is_some()
}

fn install() -> Result<()> {
    println!("setup: making the Python environment of {EXAMPLES}");
    let environment = || {
        let mut python = Command::new("python3");
        python.args(["-m", "venv", "--clear", ENVIRONMENT]);
        process::run(&mut python)
    };
    if environment().is_err() {
        // Debian packages venv apart from Python.
        if !process::exists("apt-get") {
            bail!("python3 cannot make an environment");
        }
        apt::install(&["python3", "python3-venv"])?;
        environment()?;
    }
    let mut pip = Command::new(Path::new(ENVIRONMENT).join("bin/pip"));
    pip.args(["install", "--quiet", "--requirement", REQUIREMENTS]);
    process::run(&mut pip)
}
