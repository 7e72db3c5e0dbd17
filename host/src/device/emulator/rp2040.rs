//! The RP2040 in rp2040js: our runner in `emulator/`, spoken to in JSON lines over its pipes.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use gleaner_learn::digest::hexadecimal;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{EmulatorError, answers, workspace};
use crate::device::Board;
use crate::device::flash::target::{Fault, Memory};

const NAME: &str = "rp2040js";

/// What the runner knows of the chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct Stat {
    /// Emulated time since power-on, in microseconds.
    pub micros: f64,
    /// Cycles core 0 worked since power-on; sleep does not count.
    pub cycles: u64,
    /// Cycles core 1 worked since power-on.
    pub core1_cycles: u64,
    /// Cycles that passed since power-on, whoever worked or slept.
    pub wall_cycles: u64,
    /// Resets since power-on, the watchdog's and power cuts included.
    pub resets: u32,
    /// Times the power was cut.
    pub power_cuts: u32,
    /// Whether the chip is a boot drive, until it is reset.
    pub bootsel: bool,
    /// Bytes that reached the UART when it could not take them.
    pub lost_bytes: u64,
    /// Sectors of the flash that were erased.
    pub flash_erases: u64,
    /// Pages of the flash that were programmed.
    pub flash_programs: u64,
    /// Reads of the flash while it could not answer, which is a fault of the program.
    pub flash_lost_reads: u64,
    /// Reads of the flash by both cores.
    pub xip_reads: u64,
    /// Those that its cache did not hold.
    pub xip_misses: u64,
    /// Misses that fetched instructions.
    pub xip_code_misses: u64,
    /// Cycles the cores waited for the flash.
    pub xip_wait_cycles: u64,
}

/// An RP2040 whose UART is a TCP port.
#[derive(Debug)]
pub struct Rp2040 {
    runner: Runner,
    link: SocketAddr,
}

impl Rp2040 {
    /// Starts a board with `image` and, if given, a shard in its flash.
    ///
    /// # Errors
    /// [`EmulatorError::Missing`] without Node.js or rp2040js.
    pub fn start(board: Board, image: &Path, shard: Option<&Path>) -> Result<Self, EmulatorError> {
        let mut runner = Runner::start(board, image, shard, &[])?;
        let ready = runner.read("ready")?;
        let port = ready["port"]
            .as_u64()
            .and_then(|port| u16::try_from(port).ok());
        let port = port.ok_or_else(|| unexpected(&ready))?;
        Ok(Self {
            runner,
            link: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        })
    }

    /// Returns the address of the UART.
    #[must_use]
    pub fn link(&self) -> SocketAddr {
        self.link
    }

    /// Presses the reset button; RAM keeps its content.
    ///
    /// # Errors
    /// When the runner ended.
    pub fn reset(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "reset"}), "reset")
    }

    /// Cuts the power and gives it back: RAM is noise, the flash is as it was.
    ///
    /// # Errors
    /// When the runner ended.
    pub fn power_cut(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.power_cut()
    }

    /// Has the `count`-th erase or program from here torn and the power cut at it.
    ///
    /// # Errors
    /// When the runner ended.
    pub fn cut_at_flash_op(&mut self, count: u32) -> Result<Stat, EmulatorError> {
        self.runner.cut_at_flash_op(count)
    }

    /// Reads the clock and the cycle counter.
    ///
    /// # Errors
    /// When the runner ended.
    pub fn stat(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "stat"}), "stat")
    }
}

impl Memory for Rp2040 {
    fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        self.runner.read_memory(address, bytes)
    }

    fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Fault> {
        self.runner.write_memory(address, bytes)
    }
}

/// What happened while time ran.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Ran {
    /// Bytes the chip sent.
    #[serde(deserialize_with = "from_hexadecimal")]
    pub tx: Vec<u8>,
    /// Whether the watchdog reset the chip.
    pub watchdog: bool,
    /// The chip afterwards.
    #[serde(flatten)]
    pub stat: Stat,
}

/// An RP2040 whose time runs only when told to, so that what it measures is repeatable.
#[derive(Debug)]
pub struct Lockstep {
    runner: Runner,
}

impl Lockstep {
    /// Starts a board; its time stands at zero.
    ///
    /// # Errors
    /// [`EmulatorError::Missing`] without Node.js or rp2040js.
    pub fn start(board: Board, image: &Path, shard: Option<&Path>) -> Result<Self, EmulatorError> {
        Self::with(board, image, shard, &["--lockstep"])
    }

    /// The same on its USB port: the runner is the computer it is plugged into.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_on_usb(
        board: Board,
        image: &Path,
        shard: Option<&Path>,
    ) -> Result<Self, EmulatorError> {
        Self::with(board, image, shard, &["--lockstep", "--link", "usb"])
    }

    fn with(
        board: Board,
        image: &Path,
        shard: Option<&Path>,
        options: &[&str],
    ) -> Result<Self, EmulatorError> {
        let mut runner = Runner::start(board, image, shard, options)?;
        runner.read("ready")?;
        Ok(Self { runner })
    }

    /// Puts `rx` on the wire to the chip and runs for `micros`, or until it sent `stop_at`.
    ///
    /// # Errors
    /// When the runner ended.
    pub fn run(
        &mut self,
        micros: u64,
        rx: &[u8],
        stop_at: Option<u8>,
    ) -> Result<Ran, EmulatorError> {
        let mut command = json!({"cmd": "run", "micros": micros, "rx": hexadecimal(rx)});
        if let Some(byte) = stop_at {
            command["stop_at"] = byte.into();
        }
        self.runner.ask(&command, "ran")
    }

    /// Presses the reset button; RAM keeps its content.
    ///
    /// # Errors
    /// When the runner ended.
    pub fn reset(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "reset"}), "reset")
    }

    /// Puts bytes on the wire to UART0, whichever port the link is on.
    ///
    /// # Errors
    /// When the runner ended.
    pub fn noise(&mut self, bytes: &[u8]) -> Result<Stat, EmulatorError> {
        let command = json!({"cmd": "noise", "bytes": hexadecimal(bytes)});
        self.runner.ask(&command, "noise")
    }

    /// Cuts the power and gives it back: RAM is noise, the flash is as it was.
    ///
    /// # Errors
    /// When the runner ended.
    pub fn power_cut(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.power_cut()
    }

    /// Has the `count`-th erase or program from here torn and the power cut at it.
    ///
    /// # Errors
    /// When the runner ended.
    pub fn cut_at_flash_op(&mut self, count: u32) -> Result<Stat, EmulatorError> {
        self.runner.cut_at_flash_op(count)
    }

    /// Reads the clock and the counters.
    ///
    /// # Errors
    /// When the runner ended.
    pub fn stat(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "stat"}), "stat")
    }
}

impl Memory for Lockstep {
    fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        self.runner.read_memory(address, bytes)
    }

    fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Fault> {
        self.runner.write_memory(address, bytes)
    }
}

/// The runner's process and pipes.
#[derive(Debug)]
struct Runner {
    child: Child,
    commands: ChildStdin,
    events: BufReader<ChildStdout>,
}

impl Runner {
    fn start(
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

    fn ask<T: for<'de> Deserialize<'de>>(
        &mut self,
        command: &Value,
        answer: &str,
    ) -> Result<T, EmulatorError> {
        writeln!(self.commands, "{command}").map_err(broken)?;
        let event = self.read(answer)?;
        T::deserialize(&event).map_err(|_| unexpected(&event))
    }

    fn power_cut(&mut self) -> Result<Stat, EmulatorError> {
        self.ask(&json!({"cmd": "power_cut"}), "power_cut")
    }

    fn cut_at_flash_op(&mut self, count: u32) -> Result<Stat, EmulatorError> {
        let command = json!({"cmd": "cut_at_flash_op", "count": count});
        self.ask(&command, "cut_at_flash_op")
    }

    fn read_memory(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), Fault> {
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

    fn write_memory(&mut self, address: u32, bytes: &[u8]) -> Result<(), Fault> {
        let command = json!({"cmd": "write", "address": address, "bytes": hexadecimal(bytes)});
        let _done: Value = self.ask(&command, "write").map_err(fault)?;
        Ok(())
    }

    /// Reads events up to the one named; others on the way are news nobody asked for.
    fn read(&mut self, name: &str) -> Result<Value, EmulatorError> {
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

fn unexpected(answer: &Value) -> EmulatorError {
    EmulatorError::Protocol {
        emulator: NAME,
        answer: answer.to_string(),
    }
}

fn from_hexadecimal<'de, D: serde::Deserializer<'de>>(text: D) -> Result<Vec<u8>, D::Error> {
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
