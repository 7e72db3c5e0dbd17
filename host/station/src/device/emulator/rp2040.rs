//! The RP2040 in rp2040js, on Node.js: the runner in `emulator/src`.

use std::process::Command;

use super::{EmulatorError, answers, workspace};

/// Starts the command line of the runner.
pub(super) fn runner() -> Command {
    let mut command = Command::new("node");
    command.arg(workspace().join("emulator/src/main.js"));
    command
}

/// Checks that Node.js and rp2040js are there.
///
/// # Errors
/// [`EmulatorError::Missing`] with what to install.
pub fn ensure_installed() -> Result<(), EmulatorError> {
    let package = "emulator/node_modules/rp2040js/package.json";
    if !workspace().join(package).is_file() {
        return Err(EmulatorError::Missing {
            what: "rp2040js".to_owned(),
            fix: "npm ci --prefix emulator".to_owned(),
        });
    }
    answers("node")
        .then_some(())
        .ok_or_else(|| EmulatorError::Missing {
            what: "Node.js".to_owned(),
            fix: "install the package nodejs".to_owned(),
        })
}
