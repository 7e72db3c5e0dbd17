//! A board in QEMU, started halted, with its UART on a TCP port, controlled over QMP.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::{Emulator, EmulatorError, answers};
use crate::device::Board;

const NAME: &str = "qemu-system-arm";

/// A running machine; dropping it ends QEMU.
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
    /// Returns [`EmulatorError::Missing`] without QEMU, and [`EmulatorError::NotEmulated`] for a board
    /// that QEMU does not emulate.
    pub fn start(board: Board, image: &Path, shard: Option<&Path>) -> Result<Self, EmulatorError> {
        Self::start_failing(board, image, shard, 0)
    }

    /// Starts a machine whose power fails once, in the middle of a flash operation, counted from 1; 0
    /// means never.
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
            return Err(broken(io::ErrorKind::BrokenPipe.into()));
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

    /// Resets the board; RAM keeps its content.
    ///
    /// # Errors
    /// Returns an error if QEMU ended.
    pub fn reset(&mut self) -> Result<(), EmulatorError> {
        self.command("system_reset").map(drop)
    }

    /// Waits for the program to end the emulation by semihosting.
    ///
    /// # Errors
    /// Returns an error if the process cannot be waited for.
    pub fn wait(&mut self) -> Result<ExitStatus, EmulatorError> {
        self.child.wait().map_err(broken)
    }

    /// Sends a command and returns its answer; events in between are ignored.
    fn command(&mut self, name: &str) -> Result<Value, EmulatorError> {
        writeln!(self.commands, "{}", json!({"execute": name})).map_err(broken)?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.answers.read_line(&mut line).map_err(broken)? == 0 {
                return Err(broken(io::ErrorKind::UnexpectedEof.into()));
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

/// Checks that QEMU is installed.
///
/// # Errors
/// Returns [`EmulatorError::Missing`] with what to install.
pub fn ensure_installed() -> Result<(), EmulatorError> {
    answers(NAME).then_some(()).ok_or_else(no_qemu)
}

fn no_qemu() -> EmulatorError {
    EmulatorError::Missing {
        what: NAME.to_owned(),
        fix: "install the package qemu-system-arm (qemu on macOS)".to_owned(),
    }
}

/// Loads a file into the machine's memory at its start.
fn load(command: &mut Command, file: &Path, address: u32) {
    // QEMU ends a value at a comma unless there are two.
    let file = file.display().to_string().replace(',', ",,");
    let loader = format!("loader,file={file},addr={address:#x},force-raw=on");
    command.args(["-device", &loader]);
}

/// Writes random bytes and the operation at which the power fails to a private temporary file.
fn entropy(operation: u32) -> io::Result<NamedTempFile> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
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

fn broken(source: io::Error) -> EmulatorError {
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

/// Checks every second whether process `$2` still runs, and ends `$1` when it does not. It runs in
/// the background of a shell that ends at once, so that no process has to wait for it.
#[cfg(unix)]
const WATCH: &str = r#"(
    while kill -0 "$2"; do
        kill -0 "$1" || exit
        sleep 1
    done
    kill -9 "$1"
) &"#;

/// Makes an emulator end soon after this process, even if this process is killed: QEMU does not end
/// with its standard input. Without a shell the emulator runs unguarded.
#[cfg(unix)]
fn guard(emulator: &Child) {
    let _ = watch(emulator.id(), std::process::id());
}

#[cfg(unix)]
fn watch(emulator: u32, parent: u32) -> io::Result<ExitStatus> {
    Command::new("sh")
        .args(["-c", WATCH, "gleaner-guard"])
        .args([emulator, parent].map(|id| id.to_string()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
}

/// On other systems a killed program leaves its emulators behind.
#[cfg(not(unix))]
fn guard(_emulator: &Child) {}

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

    /// Reads the pipe of the emulator's output, which ends with the last process that holds it.
    #[cfg(unix)]
    #[test]
    fn an_emulator_ends_after_a_parent_that_was_killed() {
        let mut parent = Command::new("sleep").arg("600").spawn().unwrap();
        let mut emulator = Command::new("sleep")
            .arg("600")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(watch(emulator.id(), parent.id()).unwrap().success());
        parent.kill().unwrap();
        parent.wait().unwrap();
        let mut output = emulator.stdout.take().unwrap();
        io::Read::read_to_end(&mut output, &mut Vec::new()).unwrap();
        assert!(!emulator.wait().unwrap().success());
    }
}
