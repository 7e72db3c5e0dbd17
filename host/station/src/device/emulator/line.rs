//! Bytes to and from an emulated board, and the time they take.

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
/// Longest stretch of emulated time in one go.
const STRIDE_MICROS: u64 = 20_000;

/// A running board and its line.
#[derive(Debug)]
pub(super) enum Line {
    /// A board whose time is emulated.
    Lockstep(LockstepLine),
    /// A board whose time is the wall's.
    Socket {
        /// Its UART.
        line: SocketLine,
        /// The board, which ends when it is dropped.
        _board: Qemu,
    },
}

impl Line {
    /// Starts a board, if given with a shard in its flash and with another cost of a miss of the
    /// flash's cache where one is modelled.
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

    /// Returns the time the board lives in.
    pub(super) fn now(&self) -> Micros {
        match self {
            Self::Lockstep(line) => line.now(),
            Self::Socket { line, .. } => line.now(),
        }
    }

    /// Returns what the emulator last said of the chip, if it counts.
    pub(super) const fn stat(&self) -> Option<Stat> {
        match self {
            Self::Lockstep(line) => Some(line.stat()),
            Self::Socket { .. } => None,
        }
    }

    /// Returns the speed both ends are to expect.
    pub(super) const fn bit_rate(&self) -> u32 {
        match self {
            Self::Lockstep(_) => LockstepLine::BIT_RATE,
            Self::Socket { .. } => SocketLine::BIT_RATE,
        }
    }

    /// Puts bytes on the line and lets time run until `until`, or until something came back.
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

    /// Lets time run until `until` and returns how often the board was reset; of one whose time is
    /// the wall's nobody knows.
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

/// The line of a board in lockstep: time is emulated, so what is measured is repeatable.
#[derive(Debug)]
pub struct LockstepLine {
    board: Lockstep,
    stat: Stat,
}

impl LockstepLine {
    /// The speed both ends are to expect.
    pub const BIT_RATE: u32 = 921_600;

    /// Takes over a board that has not run yet.
    #[must_use]
    pub fn new(board: Lockstep) -> Self {
        Self {
            board,
            stat: Stat::default(),
        }
    }

    /// Returns the board.
    pub const fn board(&mut self) -> &mut Lockstep {
        &mut self.board
    }

    /// Returns emulated time.
    #[must_use]
    pub const fn now(&self) -> Micros {
        Micros(self.stat.micros as u64)
    }

    /// Returns what the emulator last said of the chip.
    #[must_use]
    pub const fn stat(&self) -> Stat {
        self.stat
    }

    /// Lets the power fail inside the `count`th operation of the flash from here.
    ///
    /// # Errors
    /// When the emulator ended.
    pub fn cut_at_flash_op(&mut self, count: u32) -> Result<(), EmulatorError> {
        self.stat = self.board.cut_at_flash_op(count)?;
        Ok(())
    }

    /// Cuts the power inside an operation of the flash that was written down; see
    /// [`Lockstep::cut_again`].
    ///
    /// # Errors
    /// When the emulator ended or wrote down fewer.
    pub fn cut_again(&mut self, count: u32) -> Result<(), EmulatorError> {
        self.stat = self.board.cut_again(count)?;
        Ok(())
    }

    /// Puts bytes on the line and lets time run until `until`, or until something came back.
    ///
    /// # Errors
    /// When the emulator ended.
    pub fn exchange(&mut self, to_device: &[u8], until: Micros) -> Result<Vec<u8>, EmulatorError> {
        let wait = until.saturating_sub(self.now()).0.clamp(1, STRIDE_MICROS);
        let ran = self.board.run(wait, to_device, Some(DELIMITER))?;
        self.stat = ran.stat;
        Ok(ran.tx)
    }

    /// Puts bytes on the wire to UART0, whichever port this line is.
    ///
    /// # Errors
    /// When the emulator ended.
    pub fn noise(&mut self, bytes: &[u8]) -> Result<(), EmulatorError> {
        self.stat = self.board.noise(bytes)?;
        Ok(())
    }

    /// Presses the reset button; RAM keeps its content.
    ///
    /// # Errors
    /// When the emulator ended.
    pub fn reset(&mut self) -> Result<(), EmulatorError> {
        self.stat = self.board.reset()?;
        Ok(())
    }
}

/// The line of a board behind a TCP port: time is the wall's.
#[derive(Debug)]
pub struct SocketLine {
    stream: TcpStream,
    start: Instant,
}

impl SocketLine {
    /// The speed both ends are to expect: every byte is at the mercy of the system's scheduler.
    pub const BIT_RATE: u32 = 230_400;

    /// Connects to a board's UART.
    ///
    /// # Errors
    /// When nobody listens there.
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

    /// Puts bytes on the line and waits until `until`, or until something came back.
    ///
    /// # Errors
    /// When the board is gone.
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
