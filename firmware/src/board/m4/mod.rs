//! QEMU's mps2-an386: an emulated Cortex-M4F with the link on UART0.
//!
//! Under `-icount shift=0` the machine's clock advances one nanosecond per instruction, so time
//! and cycle figures of this board are instruction counts and are labelled "emulated".

use gleaner_shared::mlp::Alone;
use gleaner_shared::units::Cycles;
use gleaner_shared::wire::message::DeviceId;

use super::clock::EmbassyClock;
use super::crash::{self, CrashRam};
use super::memory::{self, RetainedRam};
use crate::entropy;
use crate::keys::Slots;
use crate::platform::{self, Board, CycleCounter, NoGauge, Platform, StackUse};
use crate::saved::{self, Region};

pub mod executor;
mod flash;
mod register;
mod supply;
mod time;
mod uart;
mod vector;
mod watchdog;

pub use flash::RamFlash;
pub use uart::{UartRx, UartTx};
pub use watchdog::ApbWatchdog;

use register::Register;

/// Clock of the timers and peripherals.
const TICK_HZ: u32 = 25_000_000;

/// Instructions per second of emulated time under `-icount shift=0`.
const INSTRUCTIONS_HZ: u32 = 1_000_000_000;

/// The board type of m4.
pub struct EmulatedM4;

impl Platform for EmulatedM4 {
    type Rx = UartRx;
    type Tx = UartTx;
    type Clock = EmbassyClock;
    type Cycles = TimerCounter;
    type Watchdog = ApbWatchdog;
    type StatusLed = NoLed;
    type Retained = RetainedRam;
    type Crashes = CrashRam;
    type Flash = RamFlash;
    type Partner = Alone;
    type Gauge = NoGauge;

    const NAME: &'static str = "emulated-m4";

    fn stack_use() -> StackUse {
        memory::stack_use()
    }

    fn reset() -> ! {
        crash::restart()
    }
}

/// Sectors that an application may take from the end of the shard.
const SPARE_SECTORS: usize = 16;

/// Initialises the board and returns its parts.
pub fn start() -> Board<EmulatedM4> {
    let reset = watchdog::cause();
    let timer = time::start();
    let (tx, rx) = uart::start();
    Board {
        rx,
        tx,
        clock: EmbassyClock,
        cycles: TimerCounter(timer),
        watchdog: ApbWatchdog::start(),
        led: NoLed,
        retained: RetainedRam::new(),
        crashes: CrashRam::new(),
        reset,
        shard: memory::shard(),
        key_slots: Some(Slots::new(RamFlash::new(memory::keys_address(), 2), 0)),
        state: Some(Region::new(
            RamFlash::new(
                memory::state_address() - SPARE_SECTORS * saved::SECTOR,
                SPARE_SECTORS + saved::SECTORS,
            ),
            (SPARE_SECTORS * saved::SECTOR) as u32,
        )),
        // The machine has no chip number: emulated boards differ by their shards alone.
        device: DeviceId::default(),
        helper: None,
        gauge: NoGauge {
            clock_hz: INSTRUCTIONS_HZ,
        },
        entropy: hosts_entropy(),
    }
}

unsafe extern "C" {
    static _entropy_start: u32;
}

fn entropy_address() -> usize {
    (&raw const _entropy_start).addr()
}

/// Reads the random bytes that the host placed in memory; `None` if QEMU was started by hand.
fn hosts_entropy() -> Option<[u8; 32]> {
    let start = entropy_address();
    let words: [u32; 8] = core::array::from_fn(|at| Register::at(start + 4 * at).read());
    let mut next = words.iter().cycle();
    entropy::from_words(|| next.next().copied().unwrap_or(0))
}

/// The free-running timer, one tick per 40 instructions.
pub struct TimerCounter(time::FreeRunning);

impl CycleCounter for TimerCounter {
    fn read(&self) -> u32 {
        self.0.ticks()
    }

    fn between(&self, start: u32, end: u32) -> Cycles {
        let ticks = end.wrapping_sub(start);
        Cycles(u64::from(ticks) * u64::from(INSTRUCTIONS_HZ / TICK_HZ))
    }
}

/// The machine has no visible LED.
pub struct NoLed;

impl platform::StatusLed for NoLed {
    fn set(&mut self, _lit: bool) {}
}
