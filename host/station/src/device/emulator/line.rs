//! The line to an emulated board, in emulated or wall time.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use gleaner_shared::units::Micros;

use super::qemu::Qemu;
use super::runner::{Lockstep, Stat};
use super::{Emulator, EmulatorError};
use crate::device::Board;

/// The byte between frames.
const DELIMITER: u8 = 0;
/// Longest emulated time of one step.
const STRIDE_MICROS: u64 = 20_000;

/// A running board and its line.
#[derive(Debug)]
pub(super) enum Line {
    /// A board whose time is emulated.
    Lockstep(LockstepLine),
    /// A board that runs in wall time, and ends when it is dropped.
    Socket { line: SocketLine, _board: Qemu },
}

impl Line {
    /// Starts a board, with an optional shard in its flash and an optional cost of a flash cache miss,
    /// where the cache is modelled.
    pub(super) fn open(
        board: Board,
        image: &Path,
        shard: Option<&Path>,
        miss_cycles: Option<u32>,
    ) -> Result<Self, EmulatorError> {
        let emulator = Emulator::of(board)?;
        match emulator {
            Emulator::Rp2040js | Emulator::Unicorn => {
                let board = match miss_cycles {
                    Some(cycles) => Lockstep::start_with_misses(board, image, shard, cycles)?,
                    None => Lockstep::with(board, image, shard, emulator.exactly())?,
                };
                Ok(Self::Lockstep(LockstepLine::new(board)))
            }
            Emulator::Qemu { .. } => {
                let board = Qemu::start(board, image, shard)?;
                Ok(Self::Socket {
                    line: SocketLine::open(board.link())?,
                    _board: board,
                })
            }
        }
    }

    /// Returns the time on the line.
    pub(super) fn now(&self) -> Micros {
        match self {
            Self::Lockstep(line) => line.now(),
            Self::Socket { line, .. } => line.now(),
        }
    }

    /// Returns the last counters of the chip, if the emulator counts.
    pub(super) const fn stat(&self) -> Option<Stat> {
        match self {
            Self::Lockstep(line) => Some(line.stat()),
            Self::Socket { .. } => None,
        }
    }

    /// Returns the bit rate for timeouts.
    pub(super) const fn bit_rate(&self) -> u32 {
        match self {
            Self::Lockstep(_) => LockstepLine::BIT_RATE,
            Self::Socket { .. } => SocketLine::BIT_RATE,
        }
    }

    /// Sends bytes and runs until `until`, or until bytes come back.
    pub(super) fn exchange(
        &mut self,
        to_device: &[u8],
        until: Micros,
    ) -> Result<Vec<u8>, EmulatorError> {
        match self {
            Self::Lockstep(line) => line.exchange(to_device, until),
            Self::Socket { line, .. } => line.exchange(to_device, until),
        }
    }

    /// Runs until `until` and returns the number of resets; in wall time it is unknown, and 0.
    pub(super) fn resets_until(&mut self, until: Micros) -> Result<u32, EmulatorError> {
        let Self::Lockstep(line) = self else {
            return Ok(0);
        };
        while line.now() < until {
            line.exchange(&[], until)?;
        }
        Ok(line.stat().resets)
    }
}

/// The line of a board in lockstep, with emulated and repeatable time.
#[derive(Debug)]
pub struct LockstepLine {
    board: Lockstep,
    stat: Stat,
}

impl LockstepLine {
    /// Bit rate for timeouts.
    pub const BIT_RATE: u32 = 921_600;

    /// Opens the line of a board that has not run yet.
    #[must_use]
    pub fn new(board: Lockstep) -> Self {
        Self {
            board,
            stat: Stat::default(),
        }
    }

    /// Returns the board behind the line.
    pub const fn board(&mut self) -> &mut Lockstep {
        &mut self.board
    }

    /// Returns the emulated time.
    #[must_use]
    pub const fn now(&self) -> Micros {
        Micros(self.stat.micros as u64)
    }

    /// Returns the last counters of the chip.
    #[must_use]
    pub const fn stat(&self) -> Stat {
        self.stat
    }

    /// Lets the power fail inside the `count`-th flash operation from now.
    ///
    /// # Errors
    /// Returns an error if the emulator ended.
    pub fn cut_at_flash_op(&mut self, count: u32) -> Result<(), EmulatorError> {
        self.stat = self.board.cut_at_flash_op(count)?;
        Ok(())
    }

    /// Cuts the power inside a recorded flash operation; see [`Lockstep::cut_again`].
    ///
    /// # Errors
    /// Returns an error if the emulator ended or recorded fewer.
    pub fn cut_again(&mut self, count: u32) -> Result<(), EmulatorError> {
        self.stat = self.board.cut_again(count)?;
        Ok(())
    }

    /// Sends bytes and runs until `until`, or until bytes come back.
    ///
    /// # Errors
    /// Returns an error if the emulator ended.
    pub fn exchange(&mut self, to_device: &[u8], until: Micros) -> Result<Vec<u8>, EmulatorError> {
        let wait = until.saturating_sub(self.now()).0.clamp(1, STRIDE_MICROS);
        let ran = self.board.run(wait, to_device, Some(DELIMITER))?;
        self.stat = ran.stat;
        Ok(ran.tx)
    }

    /// Sends bytes to UART0, whichever port this line uses.
    ///
    /// # Errors
    /// Returns an error if the emulator ended.
    pub fn noise(&mut self, bytes: &[u8]) -> Result<(), EmulatorError> {
        self.stat = self.board.noise(bytes)?;
        Ok(())
    }

    /// Resets the board; RAM keeps its content.
    ///
    /// # Errors
    /// Returns an error if the emulator ended.
    pub fn reset(&mut self) -> Result<(), EmulatorError> {
        self.stat = self.board.reset()?;
        Ok(())
    }
}

/// The line of a board behind a TCP port, in wall time.
#[derive(Debug)]
pub struct SocketLine {
    stream: TcpStream,
    start: Instant,
}

impl SocketLine {
    /// Bit rate for timeouts; low, since the system's scheduler delays every byte.
    pub const BIT_RATE: u32 = 230_400;

    /// Connects to a board's UART.
    ///
    /// # Errors
    /// Returns an error if no board listens there.
    pub fn open(address: SocketAddr) -> Result<Self, EmulatorError> {
        let stream = TcpStream::connect(address).map_err(socket)?;
        stream.set_nodelay(true).map_err(socket)?;
        Ok(Self {
            stream,
            start: Instant::now(),
        })
    }

    /// Returns the time since the line was opened.
    #[must_use]
    pub fn now(&self) -> Micros {
        Micros(self.start.elapsed().as_micros() as u64)
    }

    /// Sends bytes and waits until `until`, or until bytes come back.
    ///
    /// # Errors
    /// Returns an error if the board is gone.
    pub fn exchange(&mut self, to_device: &[u8], until: Micros) -> Result<Vec<u8>, EmulatorError> {
        let wait = until.saturating_sub(self.now()).0.clamp(100, 50_000);
        self.stream.write_all(to_device).map_err(socket)?;
        let timeout = Some(Duration::from_micros(wait));
        self.stream.set_read_timeout(timeout).map_err(socket)?;
        let mut bytes = vec![0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(socket(ErrorKind::UnexpectedEof.into())),
            Ok(count) => {
                bytes.truncate(count);
                Ok(bytes)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(Vec::new()),
                _ => Err(socket(error)),
            },
        }
    }
}

fn socket(source: std::io::Error) -> EmulatorError {
    EmulatorError::Io {
        emulator: "the board's line",
        source,
    }
}
