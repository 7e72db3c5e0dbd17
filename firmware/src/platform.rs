//! What the client needs of a board besides its link: cycles, a watchdog, a lamp, and where the
//! stack ended.

use gleaner_shared::units::Cycles;

/// Counts processor cycles of a piece of work.
///
/// Counters are narrow (24 bits on SysTick), so one piece must stay below [`Self::RANGE`].
pub trait CycleCounter {
    /// The longest stretch that can be told apart from a shorter one.
    const RANGE: Cycles;

    /// Reads the counter; only differences of two readings mean something.
    fn read(&self) -> u32;

    /// Returns the cycles between two readings.
    fn between(&self, start: u32, end: u32) -> Cycles;
}

/// Resets the board unless fed in time.
pub trait Watchdog {
    /// Postpones the reset. Call it only after progress.
    fn feed(&mut self);
}

/// The light that tells a bystander what the board does.
pub trait Lamp {
    /// Switches it.
    fn set(&mut self, lit: bool);
}

/// How much of the stack was ever used, by paint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackUse {
    /// Bytes between the end of the statics and the top of RAM.
    pub available_bytes: u32,
    /// Most bytes used at once since boot.
    pub used_bytes: u32,
}

/// Everything a board hands to the runner.
pub struct Board<Rx, Tx, C, W, L> {
    /// Bytes from the base station.
    pub rx: Rx,
    /// Bytes to the base station.
    pub tx: Tx,
    /// Meter of computation.
    pub cycles: C,
    /// Resets the board when the client stops making progress.
    pub watchdog: W,
    /// The board's light.
    pub lamp: L,
    /// The flash region of the local samples, whatever it holds.
    pub shard: &'static [u8],
    /// Tells this board from its siblings.
    pub device_id: [u8; 8],
    /// Clock of the core.
    pub clock_hz: u32,
    /// Reads the stack's high-water mark.
    pub stack: fn() -> StackUse,
}
