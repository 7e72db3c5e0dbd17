//! The process of our runner in `emulator/`: JSON lines over its pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use gleaner_learn::digest::hexadecimal;
use serde::Deserialize;
use serde_json::{Value, json};

use super::rp2040::Stat;
use super::{EmulatorError, answers, workspace};
use crate::device::Board;
use crate::device::flash::target::Fault;

const NAME: &str = "rp2040js";

/// The runner's process and pipes.
#[derive(Debug)]
pub(super) struct Runner {
    child: Child,
    commands: ChildStdin,
    events: BufReader<ChildStdout>,
}

impl Runner {
    pub(super) fn start(
        board: Board,
        image: &Path,
        shard: Option<&Path>,
        options: &[&str],
    ) -> Result<Self, EmulatorError> {
        ensure_installed()?;
        let folder = workspace().join("emulator");
        let mut command = Command::new("node");
        command.arg(folder.join("src/main.js"));
        command.arg("--image").arg(image).args(options);
        if let Some(shard) = shard {
            let address = format!("{:#x}", board.row().shard_address);
            command.arg("--shard").arg(shard);
            command.args(["--shard-at", &address]);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|_| no_node())?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(commands), Some(events)) => Ok(Self {
                child,
                commands,
                events: BufReader::new(events),
            }),
            _ => Err(broken(std::io::ErrorKind::BrokenPipe.into())),
        }
    }

    pub(super) fn ask<T: for<'de> Deserialize<'de>>(
        &mut self,
        command: &Value,
        answer: &str,
    ) -> Result<T, EmulatorError> {
        writeln!(self.commands, "{command}").map_err(broken)?;
        let event = self.read(answer)?;
        T::deserialize(&event).map_err(|_| unexpected(&event))
    }

    pub(super) fn power_cut(&mut self) -> Result<Stat, EmulatorError> {
        self.ask(&json!({"cmd": "power_cut"}), "power_cut")
    }

    pub(super) fn cut_at_flash_op(&mut self, count: u32) -> Result<Stat, EmulatorError> {
        let command = json!({"cmd": "cut_at_flash_op", "count": count});
        self.ask(&command, "cut_at_flash_op")
    }

    pub(super) fn read_memory(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        /// Bytes of the chip.
        #[derive(Deserialize)]
        struct Content {
            #[serde(deserialize_with = "from_hexadecimal")]
            bytes: Vec<u8>,
        }
        let command = json!({"cmd": "read", "address": address, "length": bytes.len()});
        let content: Content = self.ask(&command, "read").map_err(fault)?;
        if content.bytes.len() != bytes.len() {
            return Err(Fault(format!("{NAME}: {} bytes", content.bytes.len())));
        }
        bytes.copy_from_slice(&content.bytes);
        Ok(())
    }

    pub(super) fn write_memory(&mut self, address: u32, bytes: &[u8]) -> Result<(), Fault> {
        let command = json!({"cmd": "write", "address": address, "bytes": hexadecimal(bytes)});
        let _done: Value = self.ask(&command, "write").map_err(fault)?;
        Ok(())
    }

    /// Reads events up to the one named; others on the way are news nobody asked for.
    pub(super) fn read(&mut self, name: &str) -> Result<Value, EmulatorError> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.events.read_line(&mut line).map_err(broken)? == 0 {
                return Err(broken(std::io::ErrorKind::UnexpectedEof.into()));
            }
            let event: Value =
                serde_json::from_str(&line).map_err(|_| EmulatorError::Protocol {
                    emulator: NAME,
                    answer: line.clone(),
                })?;
            match event["event"].as_str() {
                Some("error") => return Err(unexpected(&event)),
                Some(found) if found == name => return Ok(event),
                _ => {}
            }
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // It also ends by itself when its standard input closes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Checks that Node.js and rp2040js are there.
///
/// # Errors
/// [`EmulatorError::Missing`] with what to install.
pub fn ensure_installed() -> Result<(), EmulatorError> {
    let package = "emulator/node_modules/rp2040js/package.json";
    if !workspace().join(package).is_file() {
        return Err(EmulatorError::Missing {
            what: NAME.to_owned(),
            fix: "npm ci --prefix emulator".to_owned(),
        });
    }
    answers("node").then_some(()).ok_or_else(no_node)
}

fn no_node() -> EmulatorError {
    EmulatorError::Missing {
        what: "Node.js".to_owned(),
        fix: "install the package nodejs".to_owned(),
    }
}

fn broken(source: std::io::Error) -> EmulatorError {
    EmulatorError::Io {
        emulator: NAME,
        source,
    }
}

fn fault(error: EmulatorError) -> Fault {
    Fault::from_error(&error)
}

pub(super) fn unexpected(answer: &Value) -> EmulatorError {
    EmulatorError::Protocol {
        emulator: NAME,
        answer: answer.to_string(),
    }
}

pub(super) fn from_hexadecimal<'de, D: serde::Deserializer<'de>>(
    text: D,
) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(text)?;
    let digits = text.as_bytes().chunks(2).map(|pair| {
        std::str::from_utf8(pair)
            .ok()
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
    });
    digits
        .collect::<Option<_>>()
        .ok_or_else(|| serde::de::Error::custom("bytes in hexadecimal"))
}
