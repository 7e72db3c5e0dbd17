//! The STM32L4R5 in the Unicorn engine, on Python: the runner in `emulator/stm32`.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{EmulatorError, workspace};

/// Where the runner and its Python environment are.
const FOLDER: &str = "emulator/stm32";

/// Starts the command line of the runner.
pub(super) fn runner() -> Command {
    let mut command = Command::new(python());
    command.arg(workspace().join(FOLDER).join("main.py"));
    command
}

/// The environment's own Python.
fn python() -> PathBuf {
    let program = if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    };
    workspace().join(FOLDER).join(".venv").join(program)
}

/// Checks that Python and Unicorn are there.
///
/// # Errors
/// [`EmulatorError::Missing`] with what to install.
pub fn ensure_installed() -> Result<(), EmulatorError> {
    let mut command = Command::new(python());
    command.args(["-c", "import unicorn"]).stdin(Stdio::null());
    let imports = command.output().is_ok_and(|it| it.status.success());
    imports.then_some(()).ok_or_else(|| EmulatorError::Missing {
        what: "the Unicorn engine of the STM32's emulator".to_owned(),
        fix: format!(
            "install Python 3 with venv, then `python3 -m venv {FOLDER}/.venv` and \
             `{FOLDER}/.venv/bin/pip install -r {FOLDER}/requirements.txt`"
        ),
    })
}
