//! Lines to a client: each carries bytes and has a clock.

use std::net::SocketAddr;

use gleaner_shared::units::Micros;
use gleaner_station::device::emulator::line::{LockstepLine, SocketLine};
use gleaner_station::device::emulator::runner::{Lockstep, Stat};

/// A line to one client.
pub trait Wire {
    /// Returns the client's time.
    fn now(&self) -> Micros;

    /// Sends bytes and lets time run until `until`, or until an answer arrives.
    fn exchange(&mut self, to_device: &[u8], until: Micros) -> Vec<u8>;

    /// Resets the client as its button does.
    fn reset(&mut self);

    /// Returns the speed both ends are to expect of the line.
    fn bit_rate(&self) -> u32 {
        LockstepLine::BIT_RATE
    }

    /// Returns how long a client may take for anything.
    fn patience(&self) -> Micros {
        Micros(60_000_000)
    }
}

/// A board in lockstep: time is emulated time, so what is measured is repeatable.
pub struct LockstepWire(LockstepLine);

impl LockstepWire {
    /// Takes over a board that has not run yet.
    #[must_use]
    pub fn new(board: Lockstep) -> Self {
        Self(LockstepLine::new(board))
    }

    /// Lets the power fail inside the `count`th operation of the flash from here.
    ///
    /// # Panics
    /// When the emulator ended.
    pub fn cut_at_flash_op(&mut self, count: u32) {
        let told = self.0.cut_at_flash_op(count);
        told.expect("the emulator runs");
    }

    /// Lets the power fail as if inside the `count`th operation since [`Lockstep::record_flash`].
    ///
    /// # Panics
    /// When the emulator ended or wrote down fewer.
    pub fn cut_again(&mut self, count: u32) {
        self.0.cut_again(count).expect("an operation of the record");
    }

    /// Returns the emulated board itself.
    pub const fn board(&mut self) -> &mut Lockstep {
        self.0.board()
    }

    /// Returns what the emulator last said of the chip.
    #[must_use]
    pub const fn stat(&self) -> Stat {
        self.0.stat()
    }

    /// Puts bytes on the wire to UART0, whichever port this one is.
    ///
    /// # Panics
    /// When the emulator ended.
    pub fn noise(&mut self, bytes: &[u8]) {
        self.0.noise(bytes).expect("the emulator runs");
    }
}

impl Wire for LockstepWire {
    fn now(&self) -> Micros {
        self.0.now()
    }

    fn exchange(&mut self, to_device: &[u8], until: Micros) -> Vec<u8> {
        let bytes = self.0.exchange(to_device, until);
        bytes.expect("the emulator runs")
    }

    fn reset(&mut self) {
        self.0.reset().expect("the emulator runs");
    }
}

/// A board behind a TCP port; time is the wall's.
pub struct TcpWire<R> {
    line: SocketLine,
    press_reset: R,
}

impl<R: FnMut()> TcpWire<R> {
    /// Connects; `press_reset` resets the board.
    ///
    /// # Panics
    /// When nobody listens there.
    pub fn new(address: SocketAddr, press_reset: R) -> Self {
        Self {
            line: SocketLine::open(address).expect("the emulator listens"),
            press_reset,
        }
    }
}

impl<R: FnMut()> Wire for TcpWire<R> {
    fn now(&self) -> Micros {
        self.line.now()
    }

    fn exchange(&mut self, to_device: &[u8], until: Micros) -> Vec<u8> {
        let bytes = self.line.exchange(to_device, until);
        bytes.expect("the board is there")
    }

    fn reset(&mut self) {
        (self.press_reset)();
    }

    fn bit_rate(&self) -> u32 {
        SocketLine::BIT_RATE
    }

    fn patience(&self) -> Micros {
        Micros(600_000_000)
    }
}
