//! The parts of a board that the client needs: link, clock, cycle counter, watchdog, LED, RAM that
//! survives a reset, and flash for keys and saved state.

use embedded_io_async::{Read, Write};
use embedded_storage::nor_flash::NorFlash;
use gleaner_shared::energy::Phase;
use gleaner_shared::mlp::{Helper, Partner};
use gleaner_shared::units::{Cycles, Micros};
use gleaner_shared::wire::message::{DeviceId, ResetCause};

use crate::crash::CRASH_BYTES;
use crate::keys::Slots;
use crate::model::{HIDDEN, OUTPUTS};
use crate::retained::{RECORD_BYTES, Retained};
use crate::saved::{Region, SECTOR};

/// A kind of board: the types of its parts.
pub trait Platform {
    /// Bytes from the base station.
    type Rx: Read;
    /// Bytes to the base station.
    type Tx: Write;
    /// Source of time and of waits.
    type Clock: Clock;
    /// Meter of the cycles of computing.
    type Cycles: CycleCounter;
    /// Resets the board when the client stops making progress.
    type Watchdog: Watchdog;
    /// LED that shows what the board does.
    type StatusLed: StatusLed;
    /// RAM that survives a reset.
    type Retained: Retained<RECORD_BYTES>;
    /// RAM that survives a reset, for crash reports.
    type Crashes: Retained<CRASH_BYTES>;
    /// Flash that the program can write.
    type Flash: NorFlash;
    /// Another core that shares training.
    type Partner: Partner + 'static;
    /// Pins, clocks and voltmeter for measurements.
    type Gauge: Gauge;

    /// The board's name, as reported to the base station.
    const NAME: &'static str;

    /// Returns the high-water mark of the stack; with several stacks, of the one with the least
    /// left.
    fn stack_use() -> StackUse;

    /// Restarts the board.
    fn reset() -> !;

    /// Returns whether the board can restart as the drive of its boot loader.
    fn has_boot_drive() -> bool {
        false
    }

    /// Restarts the board as a drive; only where it has one.
    fn become_drive() -> ! {
        Self::reset()
    }

    /// Signals that the last bytes read completed a frame: a board with several ports learns by it
    /// which port the base station uses.
    fn heard_a_frame() {}
}

/// All parts of a board, as passed to the runner.
#[allow(missing_docs)]
pub struct Board<P: Platform> {
    /// Bytes from the base station.
    pub rx: P::Rx,
    /// Bytes to the base station.
    pub tx: P::Tx,
    pub clock: P::Clock,
    pub cycles: P::Cycles,
    pub watchdog: P::Watchdog,
    pub led: P::StatusLed,
    pub retained: P::Retained,
    /// RAM with the report of the last crash.
    pub crashes: P::Crashes,
    /// The cause of the last reset, as the chip reports it.
    pub reset: ResetCause,
    /// The flash region of the shard.
    pub shard: &'static [u8],
    /// Flash for new keys; `None` if the program cannot write flash.
    pub key_slots: Option<Slots<P::Flash>>,
    /// Flash for ledger and model; `None` if the program cannot write flash.
    pub state: Option<Region<P::Flash>>,
    pub device: DeviceId,
    /// Another core that helps to train, and its memory; `None` if there is none.
    pub helper: Option<Helper<'static, P::Partner, HIDDEN, OUTPUTS>>,
    /// Pins, clocks and voltmeter for measurements.
    pub gauge: P::Gauge,
    /// Unpredictable bytes, different at every start; `None` without a trusted source.
    pub entropy: Option<[u8; 32]>,
}

impl<P: Platform> Board<P>
where
    P::Flash: Clone,
{
    /// Takes sectors from the end of the shard's flash for an application; `None` if the program
    /// cannot write flash. A shard that uses them is then damaged.
    pub fn take_sectors(&mut self, sectors: usize) -> Option<Region<P::Flash>> {
        let spare = self.state.as_ref()?.in_front(sectors)?;
        let left = self.shard.len().checked_sub(sectors * SECTOR)?;
        self.shard = &self.shard[..left];
        Some(spare)
    }
}

/// Tells the time and waits.
#[allow(async_fn_in_trait, reason = "one executor, one thread")]
pub trait Clock {
    /// Returns the time since the board started.
    fn now(&self) -> Micros;

    /// Waits until the time `at`.
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

/// An LED that shows what the board does.
pub trait StatusLed {
    /// Switches the LED on or off.
    fn set(&mut self, lit: bool);
}

/// Measurement support of a board: pins that show the phase, clocks, sleep modes, a voltmeter. A
/// board without one of them keeps the default implementation.
pub trait Gauge {
    /// Returns the processor's clock, in hertz.
    fn clock_hz(&self) -> u32;

    /// Sets the processor's clock; returns false, with nothing changed, if it is not available.
    fn set_clock(&mut self, _hz: u32) -> bool {
        false
    }

    /// Configures the pins and switches off parts that draw current beside the work.
    fn begin(&mut self) {}

    /// Undoes [`begin`](Self::begin) and restores the clock.
    fn end(&mut self) {}

    /// Shows the phase's code on the pins.
    fn show(&mut self, _phase: Phase) {}

    /// Chooses whether waiting stops every clock that the link does not need.
    fn sleep_deep(&mut self, _deep: bool) {}

    /// Returns the phase in which the board waits for its link.
    fn waits_in(&self) -> Phase {
        Phase::Idle
    }

    /// Returns the voltage of the supply, if it can be measured.
    fn millivolts(&mut self) -> Option<u16> {
        None
    }
}

/// A board without measurement support.
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

/// High-water mark of the stack, found by the paint that was never overwritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackUse {
    /// Bytes between the end of the statics and the top of RAM.
    pub available_bytes: u32,
    /// Most bytes used at once since boot.
    pub used_bytes: u32,
}

impl StackUse {
    /// Returns the stack with the smaller part left.
    #[must_use]
    pub const fn or_fuller(self, other: Self) -> Self {
        let ours = self.used_bytes as u64 * other.available_bytes as u64;
        let theirs = other.used_bytes as u64 * self.available_bytes as u64;
        if theirs > ours { other } else { self }
    }
}
