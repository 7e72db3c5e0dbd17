//! Bytes to and from an emulated board, and the time they take.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use gleaner_shared::units::Micros;

use super::EmulatorError;
use super::image::EmulatedBoard;
use super::qemu::Qemu;
use super::rp2040::Lockstep;

/// The byte between frames.
const DELIMITER: u8 = 0;
/// Longest stretch of emulated time in one go.
const STRIDE_MICROS: u64 = 20_000;

/// A running board and its line.
#[derive(Debug)]
pub(super) enum Line {
    /// An RP2040 in lockstep: its time is emulated, so what is measured is repeatable.
    Lockstep {
        /// The board.
        board: Lockstep,
        /// Emulated time.
        now: Micros,
    },
    /// A Cortex-M4 behind a TCP port: its time is the wall's.
    Socket {
        /// The board, which ends when it is dropped.
        _board: Qemu,
        /// Its UART.
        stream: TcpStream,
        /// When it was started.
        start: Instant,
    },
}

impl Line {
    /// Starts a board with a shard in its flash.
    pub(super) fn open(
        board: EmulatedBoard,
        image: &Path,
        shard: &Path,
    ) -> Result<Self, EmulatorError> {
        match board {
            EmulatedBoard::Rp2040 => Ok(Self::Lockstep {
                board: Lockstep::start(image, Some(shard))?,
                now: Micros(0),
            }),
            EmulatedBoard::M4 => {
                let board = Qemu::start(image, Some(shard))?;
                let stream = TcpStream::connect(board.link()).map_err(socket)?;
                stream.set_nodelay(true).map_err(socket)?;
                Ok(Self::Socket {
                    _board: board,
                    stream,
                    start: Instant::now(),
                })
            }
        }
    }

    /// Returns the time the board lives in.
    pub(super) fn now(&self) -> Micros {
        match self {
            Self::Lockstep { now, .. } => *now,
            Self::Socket { start, .. } => Micros(start.elapsed().as_micros() as u64),
        }
    }

    /// Returns the speed both ends are to expect; a socket is at the mercy of the scheduler.
    pub(super) const fn bit_rate(&self) -> u32 {
        match self {
            Self::Lockstep { .. } => 921_600,
            Self::Socket { .. } => 230_400,
        }
    }

    /// Puts bytes on the line and lets time run until `until`, or until something came back.
    pub(super) fn exchange(
        &mut self,
        to_device: &[u8],
        until: Micros,
    ) -> Result<Vec<u8>, EmulatorError> {
        let wait = until.saturating_sub(self.now()).0;
        match self {
            Self::Lockstep { board, now } => {
                let ran = board.run(wait.clamp(1, STRIDE_MICROS), to_device, Some(DELIMITER))?;
                *now = Micros(ran.stat.micros as u64);
                Ok(ran.tx)
            }
            Self::Socket { stream, .. } => {
                stream.write_all(to_device).map_err(socket)?;
                let wait = Duration::from_micros(wait.clamp(100, 50_000));
                stream.set_read_timeout(Some(wait)).map_err(socket)?;
                let mut bytes = vec![0; 4096];
                match stream.read(&mut bytes) {
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
    }
}

fn socket(source: std::io::Error) -> EmulatorError {
    EmulatorError::Io {
        emulator: "the board's line",
        source,
    }
}
