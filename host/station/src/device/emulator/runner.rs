//! The runners of `emulator/` as child processes, controlled by JSON lines over pipes.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use gleaner_files::hexadecimal;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Emulator, EmulatorError};
use crate::device::Board;
use crate::device::flash::target::{Fault, Memory};

/// Counters of a chip; those that the runner does not count are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Stat {
    /// Emulated time since power-on, in microseconds.
    pub micros: f64,
    /// Cycles of the first core since power-on, without sleep.
    pub cycles: u64,
    /// Cycles of the second core since power-on, without sleep.
    pub core1_cycles: u64,
    /// Cycles that passed since power-on, with sleep.
    pub wall_cycles: u64,
    /// Instructions executed since power-on.
    pub instructions: u64,
    /// Cycles of waiting for flash.
    #[serde(default)]
    pub flash_waits: u64,
    /// Resets since power-on, with those of the watchdog and after power cuts.
    pub resets: u32,
    /// Number of power cuts.
    pub power_cuts: u32,
    /// Whether the chip is in boot mode.
    pub bootsel: bool,
    /// Bytes that the UART lost because it was not ready.
    pub lost_bytes: u64,
    /// Erased sectors or pages of flash.
    pub flash_erases: u64,
    /// Programming operations of the flash.
    pub flash_programs: u64,
    /// Reads of words with an ECC error, left by a power cut.
    pub flash_ecc_errors: u64,
    /// Reads of the flash while it was busy, which is a bug of the program.
    pub flash_lost_reads: u64,
    /// Words read from flash through its cache.
    pub xip_reads: u64,
    /// Words that the cache did not hold.
    pub xip_misses: u64,
    /// Misses that fetched instructions.
    pub xip_code_misses: u64,
    /// Cycles the cores waited for the flash.
    pub xip_wait_cycles: u64,
}

/// A board whose UART is a TCP port.
#[derive(Debug)]
pub struct Served {
    runner: Runner,
    link: SocketAddr,
}

impl Served {
    /// Starts a board with an image and an optional shard in its flash.
    ///
    /// # Errors
    /// Returns [`EmulatorError::Missing`] without the emulator.
    pub fn start(board: Board, image: &Path, shard: Option<&Path>) -> Result<Self, EmulatorError> {
        let mut runner = Runner::start(board, image, shard, &[])?;
        let ready = runner.read("ready")?;
        let port = ready["port"]
            .as_u64()
            .and_then(|port| u16::try_from(port).ok());
        let port = port.ok_or_else(|| runner.unexpected(&ready))?;
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

    /// Resets the board; RAM keeps its content.
    ///
    /// # Errors
    /// Returns an error if the runner ended.
    pub fn reset(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "reset"}), "reset")
    }

    /// Cuts and restores the power: RAM becomes random, flash is kept.
    ///
    /// # Errors
    /// Returns an error if the runner ended or has no power cuts.
    pub fn power_cut(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "power_cut"}), "power_cut")
    }

    /// Cuts the power inside the `count`-th erase or program operation from now.
    ///
    /// # Errors
    /// Returns an error if the runner ended or has no flash.
    pub fn cut_at_flash_op(&mut self, count: u32) -> Result<Stat, EmulatorError> {
        self.runner.cut_at_flash_op(count)
    }

    /// Reads clock and counters.
    ///
    /// # Errors
    /// Returns an error if the runner ended.
    pub fn stat(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "stat"}), "stat")
    }
}

impl Memory for Served {
    fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        self.runner.read_memory(address, bytes)
    }

    fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Fault> {
        self.runner.write_memory(address, bytes)
    }
}

/// The result of a step of emulated time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Ran {
    /// Bytes that the chip sent.
    #[serde(deserialize_with = "from_hexadecimal")]
    pub tx: Vec<u8>,
    /// Whether the watchdog reset the chip.
    pub watchdog: bool,
    /// Counters after the step.
    #[serde(flatten)]
    pub stat: Stat,
}

/// The clock configuration of a chip.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Clocking {
    /// Clock of the core.
    pub hertz: f64,
    /// Violated rules of the chip's manual.
    pub violations: Vec<String>,
}

/// A board whose time advances on command, so that measurements are repeatable.
#[derive(Debug)]
pub struct Lockstep {
    runner: Runner,
}

impl Lockstep {
    /// Starts a board at time zero.
    ///
    /// # Errors
    /// Returns [`EmulatorError::Missing`] without the emulator.
    pub fn start(board: Board, image: &Path, shard: Option<&Path>) -> Result<Self, EmulatorError> {
        Self::with(board, image, shard, &[])
    }

    /// Starts a board on its USB port, with the runner as the USB host.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_on_usb(
        board: Board,
        image: &Path,
        shard: Option<&Path>,
    ) -> Result<Self, EmulatorError> {
        Self::with(board, image, shard, &["--link", "usb"])
    }

    /// Starts a board with another cost of a flash cache miss, in cycles; 0 disables it.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_with_misses(
        board: Board,
        image: &Path,
        shard: Option<&Path>,
        miss_cycles: u32,
    ) -> Result<Self, EmulatorError> {
        let cycles = miss_cycles.to_string();
        Self::with(board, image, shard, &["--xip-miss-cycles", &cycles])
    }

    /// Starts a board with more options of its runner.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn with(
        board: Board,
        image: &Path,
        shard: Option<&Path>,
        options: &[&str],
    ) -> Result<Self, EmulatorError> {
        let options = [&["--lockstep"], options].concat();
        let mut runner = Runner::start(board, image, shard, &options)?;
        runner.read("ready")?;
        Ok(Self { runner })
    }

    /// Sends `rx` to the chip and runs for `micros`, or until the chip sent `stop_at`.
    ///
    /// # Errors
    /// Returns an error if the runner ended.
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

    /// Resets the board; RAM keeps its content.
    ///
    /// # Errors
    /// Returns an error if the runner ended.
    pub fn reset(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "reset"}), "reset")
    }

    /// Cuts and restores the power: RAM becomes random, flash is kept.
    ///
    /// # Errors
    /// Returns an error if the runner ended or has no power cuts.
    pub fn power_cut(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "power_cut"}), "power_cut")
    }

    /// Cuts the power inside the `count`-th erase or program operation from now.
    ///
    /// # Errors
    /// Returns an error if the runner ended or has no flash.
    pub fn cut_at_flash_op(&mut self, count: u32) -> Result<Stat, EmulatorError> {
        self.runner.cut_at_flash_op(count)
    }

    /// Records the flash operations from now, for [`Self::cut_again`].
    ///
    /// # Errors
    /// Returns an error if the runner ended or has no flash.
    pub fn record_flash(&mut self) -> Result<Stat, EmulatorError> {
        self.runner
            .ask(&json!({"cmd": "record_flash"}), "record_flash")
    }

    /// Cuts the power with the flash in the state inside the `count`-th recorded operation, as if all
    /// operations before it had been repeated.
    ///
    /// # Errors
    /// Returns an error if the runner ended or recorded fewer.
    pub fn cut_again(&mut self, count: u32) -> Result<Stat, EmulatorError> {
        let command = json!({"cmd": "cut_again", "count": count});
        self.runner.ask(&command, "cut_again")
    }

    /// Reads clock and counters.
    ///
    /// # Errors
    /// Returns an error if the runner ended.
    pub fn stat(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "stat"}), "stat")
    }

    /// Sends bytes to the UART, whichever port the link uses.
    ///
    /// # Errors
    /// Returns an error if the runner ended or has no other port.
    pub fn noise(&mut self, bytes: &[u8]) -> Result<Stat, EmulatorError> {
        let command = json!({"cmd": "noise", "bytes": hexadecimal(bytes)});
        self.runner.ask(&command, "noise")
    }

    /// Returns the clock configuration.
    ///
    /// # Errors
    /// Returns an error if the runner ended or does not model clocks.
    pub fn clocking(&mut self) -> Result<Clocking, EmulatorError> {
        self.runner.ask(&json!({"cmd": "clock"}), "clock")
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

/// The process of a runner and its pipes.
#[derive(Debug)]
struct Runner {
    name: &'static str,
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
        let emulator = Emulator::of(board)?;
        emulator.ensure_installed()?;
        let name = emulator.name();
        let Some(mut command) = emulator.runner() else {
            return Err(EmulatorError::NotEmulated { board });
        };
        command.arg("--image").arg(image).args(options);
        if let Some(shard) = shard {
            let address = format!("{:#x}", board.shard_flash().start);
            command.arg("--shard").arg(shard);
            command.args(["--shard-at", &address]);
        }
        let broken = |source| EmulatorError::Io {
            emulator: name,
            source,
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(broken)?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(commands), Some(events)) => Ok(Self {
                name,
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
        writeln!(self.commands, "{command}").map_err(|source| self.broken(source))?;
        let event = self.read(answer)?;
        T::deserialize(&event).map_err(|_| self.unexpected(&event))
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
            let name = self.name;
            return Err(Fault(format!("{name}: {} bytes", content.bytes.len())));
        }
        bytes.copy_from_slice(&content.bytes);
        Ok(())
    }

    fn write_memory(&mut self, address: u32, bytes: &[u8]) -> Result<(), Fault> {
        let command = json!({"cmd": "write", "address": address, "bytes": hexadecimal(bytes)});
        let _done: Value = self.ask(&command, "write").map_err(fault)?;
        Ok(())
    }

    /// Reads up to the named event; others are ignored.
    fn read(&mut self, name: &str) -> Result<Value, EmulatorError> {
        let mut line = String::new();
        loop {
            line.clear();
            let count = self.events.read_line(&mut line);
            if count.map_err(|source| self.broken(source))? == 0 {
                return Err(self.broken(std::io::ErrorKind::UnexpectedEof.into()));
            }
            let event: Value =
                serde_json::from_str(&line).map_err(|_| EmulatorError::Protocol {
                    emulator: self.name,
                    answer: line.clone(),
                })?;
            match event["event"].as_str() {
                Some("error") => return Err(self.unexpected(&event)),
                Some(found) if found == name => return Ok(event),
                _ => {}
            }
        }
    }

    fn broken(&self, source: std::io::Error) -> EmulatorError {
        EmulatorError::Io {
            emulator: self.name,
            source,
        }
    }

    fn unexpected(&self, answer: &Value) -> EmulatorError {
        EmulatorError::Protocol {
            emulator: self.name,
            answer: answer.to_string(),
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // The runner also ends when its standard input closes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn fault(error: EmulatorError) -> Fault {
    Fault::from_error(&error)
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
