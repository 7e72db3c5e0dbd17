//! The RP2040 in rp2040js: our runner in `emulator/`, spoken to in JSON lines over its pipes.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use gleaner_learn::digest::hexadecimal;
use serde::Deserialize;
use serde_json::json;

use super::EmulatorError;
use super::runner::{Runner, from_hexadecimal, unexpected};
use crate::device::Board;
use crate::device::flash::target::{Fault, Memory};

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
    /// Words both cores read from flash.
    pub xip_reads: u64,
    /// Those that the flash's cache did not hold.
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
        Self::with(
            board,
            image,
            shard,
            &["--lockstep", "--xip-miss-cycles", &cycles],
        )
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
