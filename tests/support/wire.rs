//! Ways to reach a client: each carries bytes and says what time it is.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use gleaner_host::device::emulator::rp2040::{Lockstep, Ran};
use gleaner_shared::units::Micros;

/// The byte between frames.
const DELIMITER: u8 = 0;

/// A line to one client.
pub trait Wire {
    /// Returns the time the client lives in.
    fn now(&self) -> Micros;

    /// Puts bytes on the line and lets time run until `until`, or until something came back.
    fn exchange(&mut self, to_device: &[u8], until: Micros) -> Vec<u8>;

    /// Resets the client.
    fn reset(&mut self);

    /// Returns the speed both ends are to expect of the line.
    fn bit_rate(&self) -> u32 {
        921_600
    }

    /// Returns how long a client may take for anything.
    fn patience(&self) -> Micros {
        Micros(60_000_000)
    }
}

/// An RP2040 in lockstep: time is emulated time, so what is measured is repeatable.
pub struct LockstepWire {
    board: Lockstep,
    last: Ran,
    longest_micros: u64,
}

impl LockstepWire {
    /// Takes over a board that has not run yet.
    ///
    /// # Panics
    /// When the emulator ended.
    #[must_use]
    pub fn new(mut board: Lockstep) -> Self {
        let last = board.run(0, &[], None).expect("the emulator runs");
        Self {
            board,
            last,
            longest_micros: 20_000,
        }
    }

    /// Returns what the emulator last said of the chip.
    #[must_use]
    pub fn last(&self) -> &Ran {
        &self.last
    }
}

impl Wire for LockstepWire {
    fn now(&self) -> Micros {
        Micros(self.last.stat.micros as u64)
    }

    fn exchange(&mut self, to_device: &[u8], until: Micros) -> Vec<u8> {
        let micros = until.saturating_sub(self.now()).0;
        let micros = micros.clamp(1, self.longest_micros);
        self.last = self
            .board
            .run(micros, to_device, Some(DELIMITER))
            .expect("the emulator runs");
        self.last.tx.clone()
    }

    fn reset(&mut self) {
        self.last.stat = self.board.reset().expect("the emulator runs");
    }
}

/// A board behind a TCP port; time is the wall's.
pub struct TcpWire<R> {
    stream: TcpStream,
    start: Instant,
    press_reset: R,
}

impl<R: FnMut()> TcpWire<R> {
    /// Connects; `press_reset` resets the board.
    ///
    /// # Panics
    /// When nobody listens there.
    pub fn new(address: SocketAddr, press_reset: R) -> Self {
        let stream = TcpStream::connect(address).expect("the emulator listens");
        stream.set_nodelay(true).expect("a TCP socket");
        Self {
            stream,
            start: Instant::now(),
            press_reset,
        }
    }
}

impl<R: FnMut()> Wire for TcpWire<R> {
    fn now(&self) -> Micros {
        Micros(self.start.elapsed().as_micros() as u64)
    }

    fn exchange(&mut self, to_device: &[u8], until: Micros) -> Vec<u8> {
        self.stream
            .write_all(to_device)
            .expect("the board is there");
        let wait = until.saturating_sub(self.now()).0.clamp(100, 50_000);
        self.stream
            .set_read_timeout(Some(Duration::from_micros(wait)))
            .expect("a positive wait");
        let mut bytes = vec![0; 4096];
        let count = match self.stream.read(&mut bytes) {
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => 0,
            Err(error) => panic!("the board is gone: {error}"),
        };
        bytes.truncate(count);
        bytes
    }

    fn reset(&mut self) {
        (self.press_reset)();
    }

    // The machine takes its bytes one by one, each at the mercy of the system's scheduler.
    fn bit_rate(&self) -> u32 {
        230_400
    }

    fn patience(&self) -> Micros {
        Micros(600_000_000)
    }
}
