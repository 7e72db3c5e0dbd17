//! A board in QEMU: started halted, its UART a TCP port, controlled over QMP.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::guard::guard;
use super::{Emulator, EmulatorError, answers};
use crate::device::Board;

const NAME: &str = "qemu-system-arm";

/// A running machine; dropped, it is switched off.
#[derive(Debug)]
pub struct Qemu {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    link: SocketAddr,
    /// QEMU may read it again at a reset.
    _entropy: NamedTempFile,
}

impl Qemu {
    /// Starts a machine with `image` and, if given, a shard in its memory. The UART's port is
    /// open before the first instruction runs.
    ///
    /// # Errors
    /// [`EmulatorError::Missing`] without QEMU, [`EmulatorError::NotEmulated`] where it has no such
    /// board.
    pub fn start(board: Board, image: &Path, shard: Option<&Path>) -> Result<Self, EmulatorError> {
        Self::start_failing(board, image, shard, 0)
    }

    /// The same, with a power supply that fails once, in the middle of an operation of the flash,
    /// counted from 1; 0 never does.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_failing(
        board: Board,
        image: &Path,
        shard: Option<&Path>,
        operation: u32,
    ) -> Result<Self, EmulatorError> {
        let Emulator::Qemu { machine } = Emulator::of(board)? else {
            return Err(EmulatorError::NotEmulated { board });
        };
        let entropy = entropy(operation).map_err(broken)?;
        let mut command = Command::new(NAME);
        command.args(["-machine", machine, "-display", "none", "-S"]);
        // One nanosecond of emulated time per instruction: repeatable, and what the board counts.
        command.args(["-icount", "shift=0", "-qmp", "stdio"]);
        command.args(["-semihosting-config", "enable=on,target=native"]);
        command.args([
            "-chardev",
            "socket,id=link,host=127.0.0.1,port=0,server=on,wait=off,nodelay=on",
        ]);
        command.args(["-serial", "chardev:link"]);
        command.arg("-kernel").arg(image);
        if let Some(address) = board.row().built.entropy_address {
            load(&mut command, entropy.path(), address);
        }
        if let Some(shard) = shard {
            load(&mut command, shard, board.shard_flash().start);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|_| no_qemu())?;
        guard(&child);
        let (Some(commands), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(broken(std::io::ErrorKind::BrokenPipe.into()));
        };
        let mut machine = Self {
            child,
            commands,
            answers: BufReader::new(answers),
            link: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            _entropy: entropy,
        };
        machine.command("qmp_capabilities")?;
        let devices = machine.command("query-chardev")?;
        let port = port_of(&devices).ok_or_else(|| unexpected(&devices))?;
        machine.link.set_port(port);
        machine.command("cont")?;
        Ok(machine)
    }

    /// Returns the address of the UART.
    #[must_use]
    pub fn link(&self) -> SocketAddr {
        self.link
    }

    /// Presses the reset button; RAM keeps its content.
    ///
    /// # Errors
    /// When QEMU ended.
    pub fn reset(&mut self) -> Result<(), EmulatorError> {
        self.command("system_reset").map(drop)
    }

    /// Waits for the program to end the emulation by semihosting.
    ///
    /// # Errors
    /// When the process cannot be waited for.
    pub fn wait(&mut self) -> Result<ExitStatus, EmulatorError> {
        self.child.wait().map_err(broken)
    }

    /// Gives a command and returns its answer; events on the way are news nobody asked for.
    fn command(&mut self, name: &str) -> Result<Value, EmulatorError> {
        writeln!(self.commands, "{}", json!({"execute": name})).map_err(broken)?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.answers.read_line(&mut line).map_err(broken)? == 0 {
                return Err(broken(std::io::ErrorKind::UnexpectedEof.into()));
            }
            let answer: Value =
                serde_json::from_str(&line).map_err(|_| EmulatorError::Protocol {
                    emulator: NAME,
                    answer: line.clone(),
                })?;
            if let Some(value) = answer.get("return") {
                return Ok(value.clone());
            }
            if answer.get("error").is_some() {
                return Err(unexpected(&answer));
            }
        }
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Checks that QEMU is there.
///
/// # Errors
/// [`EmulatorError::Missing`] with what to install.
pub fn ensure_installed() -> Result<(), EmulatorError> {
    answers(NAME).then_some(()).ok_or_else(no_qemu)
}

fn no_qemu() -> EmulatorError {
    EmulatorError::Missing {
        what: NAME.to_owned(),
        fix: "install the package qemu-system-arm (qemu on macOS)".to_owned(),
    }
}

/// Has a file lie in the machine's memory from its start.
fn load(command: &mut Command, file: &Path, address: u32) {
    // QEMU ends a value at a comma unless there are two.
    let file = file.display().to_string().replace(',', ",,");
    let loader = format!("loader,file={file},addr={address:#x},force-raw=on");
    command.args(["-device", &loader]);
}

/// Fresh random bytes and when the power fails, in a file that only this user can read and that goes when it is dropped.
fn entropy(operation: u32) -> std::io::Result<NamedTempFile> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    let mut file = NamedTempFile::new()?;
    file.write_all(&bytes)?;
    file.write_all(&operation.to_le_bytes())?;
    Ok(file)
}

/// Finds the UART's port in, for example, `disconnected:tcp:127.0.0.1:40123,server=on`.
fn port_of(devices: &Value) -> Option<u16> {
    let link = devices
        .as_array()?
        .iter()
        .find(|device| device["label"] == "link")?;
    let (_, rest) = link["filename"].as_str()?.split_once("127.0.0.1:")?;
    rest.split(',').next()?.parse().ok()
}

fn broken(source: std::io::Error) -> EmulatorError {
    EmulatorError::Io {
        emulator: NAME,
        source,
    }
}

fn unexpected(answer: &Value) -> EmulatorError {
    EmulatorError::Protocol {
        emulator: NAME,
        answer: answer.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_port_of_the_uart() {
        let devices = json!([
            {"label": "compat_monitor0", "filename": "stdio"},
            {"label": "link", "filename": "disconnected:tcp:127.0.0.1:40123,server=on"},
        ]);
        assert_eq!(port_of(&devices), Some(40123));
        assert_eq!(
            port_of(&json!([{"label": "link", "filename": "null"}])),
            None
        );
    }
}
