//! Nucleo-L4R5ZI and Nucleo-L496ZG, one board with either chip (UM2179): STM32L4R5 at 120 MHz or
//! STM32L496 at 80 MHz, with the link on LPUART1 (PG7, PG8), which the on-board ST-Link shows as a
//! serial port; the LED is LD1 on PC7.

use cortex_m::peripheral::{DWT, Peripherals};
use embassy_executor::Spawner;
use embassy_stm32::gpio::{Level, Output, Speed};
use embassy_stm32::interrupt::{self, InterruptExt};
use embassy_stm32::peripherals::{IWDG, LPUART1, RNG};
use embassy_stm32::rng::{self, Rng};
use embassy_stm32::usart::{self, BufferedUart, BufferedUartRx, BufferedUartTx};
use embassy_stm32::wdg::IndependentWatchdog;
use embassy_stm32::{Config, bind_interrupts};
use gleaner_shared::mlp::Alone;
use gleaner_shared::units::Cycles;
use gleaner_shared::wire::message::DeviceId;
use static_cell::StaticCell;

use super::clock::EmbassyClock;
use super::crash::{self, CrashRam};
use super::memory::{self, RetainedRam};
use super::{BAUD, WATCHDOG_MS};
use crate::entropy;
use crate::platform::{self, Board, CycleCounter, Platform, StackUse};
use crate::sender::Sender;

#[cfg(feature = "board-stm32l4r5")]
mod clocks;
mod divider;
mod flash;
mod gauge;
#[cfg(feature = "board-stm32l496")]
mod l496;
mod reset;
mod sleep;
mod voltmeter;

pub use flash::Pages;

bind_interrupts!(struct Irqs {
    LPUART1 => usart::BufferedInterruptHandler<LPUART1>;
    RNG => rng::InterruptHandler<RNG>;
});

const RX_BUFFER_BYTES: usize = 2_048;
/// One whole frame, so that the client continues while it is sent.
const TX_BUFFER_BYTES: usize = 1_024;

/// Nucleo-L4R5ZI or Nucleo-L496ZG.
pub struct Nucleo;

impl Platform for Nucleo {
    type Rx = BufferedUartRx<'static>;
    type Tx = Sender<BufferedUartTx<'static>, EmbassyClock, fn()>;
    type Clock = EmbassyClock;
    type Cycles = DwtCounter;
    type Watchdog = FedWatchdog;
    type StatusLed = Output<'static>;
    type Retained = RetainedRam;
    type Crashes = CrashRam;
    type Flash = Pages;
    type Partner = Alone;
    type Gauge = gauge::NucleoGauge;

    #[cfg(feature = "board-stm32l4r5")]
    const NAME: &'static str = "nucleo-l4r5zi";
    #[cfg(feature = "board-stm32l496")]
    const NAME: &'static str = "nucleo-l496zg";

    fn stack_use() -> StackUse {
        memory::stack_use()
    }

    fn reset() -> ! {
        crash::restart()
    }
}

/// Initialises the board and returns its parts.
pub fn start(spawner: Spawner) -> Board<Nucleo> {
    static RX: StaticCell<[u8; RX_BUFFER_BYTES]> = StaticCell::new();
    static TX: StaticCell<[u8; TX_BUFFER_BYTES]> = StaticCell::new();

    let reset = reset::cause();
    let p = start_chip(spawner);

    let mut config = usart::Config::default();
    config.baudrate = BAUD;
    let uart = BufferedUart::new(
        p.LPUART1,
        p.PG8,
        p.PG7,
        TX.init([0; TX_BUFFER_BYTES]),
        RX.init([0; RX_BUFFER_BYTES]),
        Irqs,
        config,
    )
    .expect("921,600 baud divides the clock");
    let (tx, rx) = uart.split();

    reset::freeze_watchdog_under_debug();
    let mut watchdog = IndependentWatchdog::new(p.IWDG, WATCHDOG_MS * 1_000);
    watchdog.unleash();

    // embassy-stm32 0.6 restarts the generator when it reports a seed or clock error (SEIS, CEIS,
    // which SECS and CECS set) and waits for a valid word, if necessary until the watchdog resets
    // the board. It does not check for the zero that RNG_DR returns when a seed error occurs
    // between reading the flags and reading the word (RM0432, RNG_DR).
    let mut rng = Rng::new(p.RNG, Irqs);
    let entropy = entropy::from_words(|| rng.next_u32());

    let (key_slots, state) = flash::pages(p.FLASH).unzip();
    Board {
        rx,
        tx: Sender::new(tx, TX_BUFFER_BYTES, EmbassyClock, || {
            interrupt::LPUART1.pend();
        }),
        clock: EmbassyClock,
        cycles: DwtCounter::start(),
        watchdog: FedWatchdog(watchdog),
        led: Output::new(p.PC7, Level::Low, Speed::Low),
        retained: RetainedRam::new(),
        crashes: CrashRam::new(),
        reset,
        shard: memory::shard(),
        key_slots,
        state,
        device: DeviceId(embassy_stm32::uid::uid()),
        helper: None,
        gauge: gauge::NucleoGauge::start(),
        entropy,
    }
}

/// Starts the chip at its fastest clock.
#[cfg(feature = "board-stm32l4r5")]
fn start_chip(spawner: Spawner) -> embassy_stm32::Peripherals {
    let mut p = embassy_stm32::init(Config::default());
    clocks::climb(&mut p.RCC);
    spawner.spawn(clocks::lock_to_crystal().expect("one task locks the clock"));
    p
}

/// Starts the chip at its fastest clock.
#[cfg(feature = "board-stm32l496")]
fn start_chip(_spawner: Spawner) -> embassy_stm32::Peripherals {
    let mut config = Config::default();
    config.rcc = l496::fastest_clock();
    embassy_stm32::init(config)
}

/// The cycle counter of the core's DWT unit.
pub struct DwtCounter(());

impl DwtCounter {
    fn start() -> Self {
        // SAFETY: DWT and DCB belong to this type alone, and the board starts one counter.
        let mut core = unsafe { Peripherals::steal() };
        core.DCB.enable_trace();
        core.DWT.enable_cycle_counter();
        Self(())
    }
}

impl CycleCounter for DwtCounter {
    fn read(&self) -> u32 {
        DWT::cycle_count()
    }

    fn between(&self, start: u32, end: u32) -> Cycles {
        Cycles(u64::from(end.wrapping_sub(start)))
    }
}

/// The chip's independent watchdog.
pub struct FedWatchdog(IndependentWatchdog<'static, IWDG>);

impl platform::Watchdog for FedWatchdog {
    fn feed(&mut self) {
        self.0.pet();
    }
}

impl platform::StatusLed for Output<'static> {
    fn set(&mut self, lit: bool) {
        self.set_level(lit.into());
    }
}
