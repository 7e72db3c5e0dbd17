//! What the client needs of a board: bytes, time, cycles, a watchdog, a lamp, a little RAM that
//! survives a reset, and flash for keys and for what survives a power cut.

use embedded_io_async::{Read, Write};
use embedded_storage::nor_flash::NorFlash;
use gleaner_shared::units::{Cycles, Micros};
use gleaner_shared::wire::message::DeviceId;

use crate::keys::Slots;
use crate::retained::Retained;
use crate::saved::Region;

/// A kind of board: the types of its parts.
pub trait Platform {
    /// Bytes from the base station.
    type Rx: Read;
    /// Bytes to the base station.
    type Tx: Write;
    /// Time.
    type Clock: Clock;
    /// Meter of computation.
    type Cycles: CycleCounter;
    /// Resets the board when the client stops making progress.
    type Watchdog: Watchdog;
    /// The board's light.
    type Lamp: Lamp;
    /// RAM that survives a reset.
    type Retained: Retained;
    /// Flash that the program writes.
    type Flash: NorFlash;

    /// The board's name, as told to the base station.
    const NAME: &'static str;
    /// Cycles an epoch takes per sample, before one was measured.
    const CYCLES_PER_SAMPLE: u32;

    /// Measures the stack's high-water mark.
    fn stack_use() -> StackUse;

    /// Restarts the board.
    fn reset() -> !;
}

/// Everything a board hands to the runner.
pub struct Board<P: Platform> {
    /// Bytes from the base station.
    pub rx: P::Rx,
    /// Bytes to the base station.
    pub tx: P::Tx,
    /// Time.
    pub clock: P::Clock,
    /// Meter of computation.
    pub cycles: P::Cycles,
    /// Resets the board when the client stops making progress.
    pub watchdog: P::Watchdog,
    /// The board's light.
    pub lamp: P::Lamp,
    /// RAM that survives a reset.
    pub retained: P::Retained,
    /// The flash region of the local samples, whatever it holds.
    pub shard: &'static [u8],
    /// Where new keys are kept; `None` where the program cannot write flash.
    pub key_slots: Option<Slots<P::Flash>>,
    /// Where the ledger and the model are kept over a power cut; `None` as above.
    pub state: Option<Region<P::Flash>>,
    /// The chip's own number.
    pub device: DeviceId,
    /// What nobody can guess and no other start gathers; `None` where nothing is trusted to be that.
    pub entropy: Option<[u8; 32]>,
}

/// Tells the time and waits for it.
#[allow(async_fn_in_trait, reason = "one executor, one thread")]
pub trait Clock {
    /// Returns the time since start.
    fn now(&self) -> Micros;

    /// Returns when `at` has come.
    async fn wait_until(&self, at: Micros);
}

/// Counts processor cycles of a piece of work.
///
/// Counters are narrow (24 bits on SysTick: 134 ms at 125 MHz), so a piece must be short.
pub trait CycleCounter {
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
