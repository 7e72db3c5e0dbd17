//! Emulators of ours: a runner of `emulator/` as a child process, spoken to in JSON lines over its
//! pipes. Which program that is, `rp2040.rs` and `unicorn.rs` say.

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

/// What a runner knows of its chip; what it does not count is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Stat {
    /// Emulated time since power-on, in microseconds.
    pub micros: f64,
    /// Cycles the core, the first of several, worked since power-on; sleep does not count.
    pub cycles: u64,
    /// Cycles the second core worked since power-on.
    pub core1_cycles: u64,
    /// Cycles that passed since power-on, whoever worked or slept.
    pub wall_cycles: u64,
    /// Instructions it carried out.
    pub instructions: u64,
    /// Cycles it waited for flash; zero where they are not counted.
    #[serde(default)]
    pub flash_waits: u64,
    /// Resets since power-on, the watchdog's and those after a power cut included.
    pub resets: u32,
    /// Times the power was cut.
    pub power_cuts: u32,
    /// Whether the chip is a boot drive, until it is reset.
    pub bootsel: bool,
    /// Bytes that reached the UART when it could not take them.
    pub lost_bytes: u64,
    /// Sectors or pages of flash that were erased.
    pub flash_erases: u64,
    /// Pieces of flash that were programmed.
    pub flash_programs: u64,
    /// Reads of words whose programming or erasure lost its power, as the chip found them.
    pub flash_ecc_errors: u64,
    /// Reads of the flash while it could not answer, which is a fault of the program.
    pub flash_lost_reads: u64,
    /// Words that all cores read from flash through its cache.
    pub xip_reads: u64,
    /// Those that the cache did not hold.
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
    /// Starts a board with `image` and, if given, a shard in its flash.
    ///
    /// # Errors
    /// [`EmulatorError::Missing`] without the emulator.
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

    /// Presses the reset button; RAM keeps its content.
    ///
    /// # Errors
    /// When the runner ended.
    pub fn reset(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "reset"}), "reset")
    }

    /// Takes the power away and gives it back: RAM is noise, flash is kept.
    ///
    /// # Errors
    /// When the runner ended or knows no power cuts.
    pub fn power_cut(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "power_cut"}), "power_cut")
    }

    /// Has the `count`-th erase or program from here torn and the power cut at it.
    ///
    /// # Errors
    /// When the runner ended or knows no flash.
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

impl Memory for Served {
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

/// How a chip's clock came to be, where the runner models that.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Clocking {
    /// The core's clock.
    pub hertz: f64,
    /// Rules of the chip's manual that were broken on the way there.
    pub violations: Vec<String>,
}

/// A board whose time runs only when told to, so that what it measures is repeatable.
#[derive(Debug)]
pub struct Lockstep {
    runner: Runner,
}

impl Lockstep {
    /// Starts a board; its time stands at zero.
    ///
    /// # Errors
    /// [`EmulatorError::Missing`] without the emulator.
    pub fn start(board: Board, image: &Path, shard: Option<&Path>) -> Result<Self, EmulatorError> {
        Self::with(board, image, shard, &[])
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
        Self::with(board, image, shard, &["--link", "usb"])
    }

    /// The same with another cost of a miss of the flash's cache, in cycles; 0 leaves it out.
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

    /// The same with more options of its runner.
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

    /// Takes the power away and gives it back: RAM is noise, flash is kept.
    ///
    /// # Errors
    /// When the runner ended or knows no power cuts.
    pub fn power_cut(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "power_cut"}), "power_cut")
    }

    /// Has the `count`-th erase or program from here torn and the power cut at it.
    ///
    /// # Errors
    /// When the runner ended or knows no flash.
    pub fn cut_at_flash_op(&mut self, count: u32) -> Result<Stat, EmulatorError> {
        self.runner.cut_at_flash_op(count)
    }

    /// Has the operations of the flash written down from here on, for [`Self::cut_again`].
    ///
    /// # Errors
    /// When the runner ended or knows no flash.
    pub fn record_flash(&mut self) -> Result<Stat, EmulatorError> {
        self.runner
            .ask(&json!({"cmd": "record_flash"}), "record_flash")
    }

    /// Cuts the power with a flash that is what it was when the `count`-th operation written down
    /// was torn: as if all before it had been done again.
    ///
    /// # Errors
    /// When the runner ended or wrote down fewer.
    pub fn cut_again(&mut self, count: u32) -> Result<Stat, EmulatorError> {
        let command = json!({"cmd": "cut_again", "count": count});
        self.runner.ask(&command, "cut_again")
    }

    /// Reads the clock and the counters.
    ///
    /// # Errors
    /// When the runner ended.
    pub fn stat(&mut self) -> Result<Stat, EmulatorError> {
        self.runner.ask(&json!({"cmd": "stat"}), "stat")
    }

    /// Puts bytes on the wire to the UART, whichever port the link is on.
    ///
    /// # Errors
    /// When the runner ended or has no other port.
    pub fn noise(&mut self, bytes: &[u8]) -> Result<Stat, EmulatorError> {
        let command = json!({"cmd": "noise", "bytes": hexadecimal(bytes)});
        self.runner.ask(&command, "noise")
    }

    /// Says how the chip was clocked.
    ///
    /// # Errors
    /// When the runner ended or does not model it.
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

/// The runner's process and pipes.
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

    /// Reads events up to the one named; others on the way are news nobody asked for.
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
        // It also ends by itself when its standard input closes.
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
