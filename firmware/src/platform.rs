//! What the client needs of a board: bytes, time, cycles, a watchdog, a led, a little RAM that
//! survives a reset, and flash for keys and for what survives a power cut.

use embedded_io_async::{Read, Write};
use embedded_storage::nor_flash::NorFlash;
use gleaner_shared::energy::Phase;
use gleaner_shared::mlp::{Helper, Partner};
use gleaner_shared::units::{Cycles, Micros};
use gleaner_shared::wire::message::{DeviceId, ResetCause};

use crate::crash::CrashMemory;
use crate::keys::Slots;
use crate::model::{HIDDEN, OUTPUTS};
use crate::retained::Retained;
use crate::saved::{Region, SECTOR};

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
    type StatusLed: StatusLed;
    /// RAM that survives a reset.
    type Retained: Retained;
    /// RAM that survives a reset, for what a crash leaves.
    type Crashes: CrashMemory;
    /// Flash that the program writes.
    type Flash: NorFlash;
    /// Another core.
    type Partner: Partner + 'static;
    /// What a measurement needs beside the work.
    type Gauge: Gauge;

    /// The board's name, as told to the base station.
    const NAME: &'static str;
    /// Cycles an epoch takes per sample, before one was measured.
    const CYCLES_PER_SAMPLE: u32;

    /// Measures the stack's high-water mark; of several stacks, that of the one least is left of.
    fn stack_use() -> StackUse;

    /// Restarts the board.
    fn reset() -> !;

    /// Tells whether the board can restart as the drive of its boot loader.
    fn has_boot_drive() -> bool {
        false
    }

    /// Restarts the board as a drive; only where it has one.
    fn become_drive() -> ! {
        Self::reset()
    }

    /// Takes note that a whole frame ended in the bytes that were last read: whoever has several
    /// ports knows by it where the base station is.
    fn heard_a_frame() {}
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
    pub led: P::StatusLed,
    /// RAM that survives a reset.
    pub retained: P::Retained,
    /// What the last crash left.
    pub crashes: P::Crashes,
    /// What the chip says it was reset by.
    pub reset: ResetCause,
    /// The flash region of the local samples, whatever it holds.
    pub shard: &'static [u8],
    /// Where new keys are kept; `None` where the program cannot write flash.
    pub key_slots: Option<Slots<P::Flash>>,
    /// Where the ledger and the model are kept over a power cut; `None` as above.
    pub state: Option<Region<P::Flash>>,
    /// The chip's own number.
    pub device: DeviceId,
    /// Another core that helps to train, and its memory; `None` where there is none.
    pub helper: Option<Helper<'static, P::Partner, HIDDEN, OUTPUTS>>,
    /// What a measurement needs beside the work.
    pub gauge: P::Gauge,
    /// What nobody can guess and no other start gathers; `None` where nothing is trusted to be that.
    pub entropy: Option<[u8; 32]>,
}

impl<P: Platform> Board<P>
where
    P::Flash: Clone,
{
    /// Takes so many sectors from the end of the shard's flash for an application; none where the
    /// program cannot write flash. A shard that reaches into them is then one that was cut off.
    pub fn take_sectors(&mut self, sectors: usize) -> Option<Region<P::Flash>> {
        let spare = self.state.as_ref()?.in_front(sectors)?;
        let left = self.shard.len().checked_sub(sectors * SECTOR)?;
        self.shard = &self.shard[..left];
        Some(spare)
    }
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
pub trait StatusLed {
    /// Switches it.
    fn set(&mut self, lit: bool);
}

/// What a measurement needs of a board beside the work: pins that show the phase, clocks, depths
/// of sleep, a voltmeter. A board without one of them does nothing, and says so.
pub trait Gauge {
    /// Returns the processor's clock, in hertz.
    fn clock_hz(&self) -> u32;

    /// Sets the processor's clock; false, with nothing changed, where there is no such clock.
    fn set_clock(&mut self, _hz: u32) -> bool {
        false
    }

    /// Takes the pins, and switches off what would draw current beside the work.
    fn begin(&mut self) {}

    /// Gives all that back, the clock included.
    fn end(&mut self) {}

    /// Shows a phase's code on three pins at once.
    fn show(&mut self, _phase: Phase) {}

    /// Says whether waiting stops whatever the link can do without.
    fn sleep_deep(&mut self, _deep: bool) {}

    /// Returns the phase in which the board waits for its link.
    fn waits_in(&self) -> Phase {
        Phase::Idle
    }

    /// Returns the voltage of the supply, where it can be measured.
    fn millivolts(&mut self) -> Option<u16> {
        None
    }
}

/// A board that can be told nothing but its clock.
#[derive(Clone, Copy, Debug)]
pub struct NoGauge {
    /// The processor's clock, in hertz.
    pub clock_hz: u32,
}

impl Gauge for NoGauge {
    fn clock_hz(&self) -> u32 {
        self.clock_hz
    }
}

/// How much of the stack was ever used, by paint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackUse {
    /// Bytes between the end of the statics and the top of RAM.
    pub available_bytes: u32,
    /// Most bytes used at once since boot.
    pub used_bytes: u32,
}

impl StackUse {
    /// Returns the one of which the smaller part is left.
    #[must_use]
    pub const fn or_fuller(self, other: Self) -> Self {
        let ours = self.used_bytes as u64 * other.available_bytes as u64;
        let theirs = other.used_bytes as u64 * self.available_bytes as u64;
        if theirs > ours { other } else { self }
    }
}
