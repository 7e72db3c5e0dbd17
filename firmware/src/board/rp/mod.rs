//! Raspberry Pi Pico and Pico 2: RP2040 at 125 MHz or RP2350 at 150 MHz, with the link on UART0
//! (GP0 transmits, GP1 receives) and on USB CDC-ACM at the same time, and the LED on GP25. A Pico
//! trains on both cores.

use core::cell::RefCell;

use embassy_executor::Spawner;
use embassy_rp::bind_interrupts;
use embassy_rp::clocks::{ClockConfig, PeriClkSrc};
use embassy_rp::config::Config;
use embassy_rp::flash::{Blocking, FLASH_BASE, Flash};
use embassy_rp::gpio::{Level, Output};
use embassy_rp::interrupt::{self, InterruptExt};
use embassy_rp::peripherals::{FLASH, UART0, USB};
use embassy_rp::uart::{self, BufferedInterruptHandler, BufferedUart};
use embassy_rp::usb::InterruptHandler;
use embassy_rp::watchdog::Watchdog;
use embassy_rp::{pac, rom_data};
use embassy_time::Duration;
use static_cell::StaticCell;

use super::clock::EmbassyClock;
use super::crash::{self, CrashRam};
use super::memory::{self, RetainedRam};
use super::shared::SharedFlash;
use super::systick::SysTickCounter;
use super::{BAUD, WATCHDOG_MS};
use crate::keys::Slots;
use crate::model::BOARD;
use crate::platform::{self, Board, Platform, StackUse};
use crate::saved::Region;
use crate::sender::Sender;

#[cfg(feature = "board-rp2040")]
#[path = "rp2040.rs"]
mod chip;
#[cfg(feature = "board-rp2350")]
#[path = "rp2350.rs"]
mod chip;
#[cfg(feature = "board-rp2040")]
mod core1;
mod gauge;
mod ports;
mod usb;
mod voltmeter;

#[cfg(feature = "board-rp2040")]
pub(super) use chip::reset_now;
pub use ports::{PortsRx, PortsTx};

bind_interrupts!(struct Irqs {
    #[cfg(feature = "board-rp2350")]
    TRNG_IRQ => embassy_rp::trng::InterruptHandler<embassy_rp::peripherals::TRNG>;
    UART0_IRQ => BufferedInterruptHandler<UART0>;
    USBCTRL_IRQ => InterruptHandler<USB>;
});

const CRYSTAL_HZ: u32 = 12_000_000;

const FLASH_BYTES: usize = BOARD.flash.bytes as usize;

/// Size of the receive buffer: at 921,600 baud a training step of 2 ms brings 184 bytes.
const RX_BUFFER_BYTES: usize = 2_048;
const TX_BUFFER_BYTES: usize = 256;

/// Raspberry Pi Pico or Pico 2.
pub struct Pico;

impl Platform for Pico {
    type Rx = PortsRx;
    type Tx = PortsTx;
    type Clock = EmbassyClock;
    type Cycles = SysTickCounter;
    type Watchdog = FedWatchdog;
    type StatusLed = Output<'static>;
    type Retained = RetainedRam;
    type Crashes = CrashRam;
    type Flash = SharedFlash<PicoFlash>;
    type Partner = chip::SecondCore;
    type Gauge = gauge::PicoGauge;

    const NAME: &'static str = BOARD.name;

    fn stack_use() -> StackUse {
        #[cfg(feature = "board-rp2040")]
        return memory::stack_use().or_fuller(core1::stack_use());
        #[cfg(feature = "board-rp2350")]
        memory::stack_use()
    }

    fn reset() -> ! {
        #[cfg(feature = "board-rp2040")]
        core1::hold();
        crash::restart()
    }

    fn has_boot_drive() -> bool {
        has_boot_rom()
    }

    fn become_drive() -> ! {
        // Without an activity LED, and with both USB interfaces of the boot ROM.
        rom_data::reset_to_usb_boot(0, 0);
        Self::reset()
    }

    fn heard_a_frame() {
        ports::settle();
    }
}

/// Initialises the board and returns its parts.
pub fn start(spawner: Spawner) -> Board<Pico> {
    static RX: StaticCell<[u8; RX_BUFFER_BYTES]> = StaticCell::new();
    static TX: StaticCell<[u8; TX_BUFFER_BYTES]> = StaticCell::new();
    static CHIP: StaticCell<RefCell<PicoFlash>> = StaticCell::new();

    let reset = chip::reset_cause();
    let mut clocks = ClockConfig::crystal(CRYSTAL_HZ);
    // The UART keeps its baud rate whatever the core's clock is.
    clocks.peri_clk_src = Some(PeriClkSrc::PllUsb);
    let p = embassy_rp::init(Config::new(clocks));
    let mut flash = has_boot_rom().then(|| PicoFlash::new_blocking(p.FLASH));
    let device = chip::device_id(flash.as_mut());
    let flash = flash.map(|flash| &*CHIP.init(RefCell::new(flash)));

    let mut config = uart::Config::default();
    config.baudrate = BAUD;
    let uart = BufferedUart::new(
        p.UART0,
        p.PIN_0,
        p.PIN_1,
        Irqs,
        TX.init([0; TX_BUFFER_BYTES]),
        RX.init([0; RX_BUFFER_BYTES]),
        config,
    );
    calm_receiver();
    let (uart_tx, uart_rx) = uart.split();
    let (usb_tx, usb_rx) = usb::start(spawner, p.USB, &device);

    let mut watchdog = Watchdog::new(p.WATCHDOG);
    // A debugger that stops the program also stops the watchdog.
    watchdog.pause_on_debug(true);
    watchdog.start(Duration::from_millis(WATCHDOG_MS.into()));
    #[cfg(feature = "board-rp2350")]
    chip::let_watchdog_reset_all();

    Board {
        rx: PortsRx::new(uart_rx, usb_rx),
        tx: PortsTx::new(
            Sender::new(uart_tx, TX_BUFFER_BYTES, EmbassyClock, || {
                interrupt::UART0_IRQ.pend();
            }),
            usb_tx,
        ),
        clock: EmbassyClock,
        cycles: SysTickCounter::start(),
        watchdog: FedWatchdog(watchdog),
        led: Output::new(p.PIN_25, Level::Low),
        retained: RetainedRam::new(),
        crashes: CrashRam::new(),
        reset,
        shard: memory::shard(),
        key_slots: flash.map(|flash| {
            let offset = memory::keys_address() - FLASH_BASE.addr();
            Slots::new(SharedFlash::new(flash), offset as u32)
        }),
        state: flash.map(|flash| {
            let offset = memory::state_address() - FLASH_BASE.addr();
            Region::new(SharedFlash::new(flash), offset as u32)
        }),
        device,
        gauge: gauge::PicoGauge::new([p.PIN_2.into(), p.PIN_3.into(), p.PIN_4.into()]),
        #[cfg(feature = "board-rp2040")]
        helper: (!cfg!(feature = "one-core"))
            .then(|| core1::start(p.CORE1))
            .flatten(),
        #[cfg(feature = "board-rp2350")]
        helper: None,
        #[cfg(feature = "board-rp2040")]
        entropy: chip::entropy(),
        #[cfg(feature = "board-rp2350")]
        entropy: chip::entropy(p.TRNG),
    }
}

/// The flash chip. The boot ROM erases and programs it while no code runs from it: interrupts wait
/// for about 50 ms, at worst 400 ms, and UART bytes that arrive meanwhile are lost and sent again.
type PicoFlash = Flash<'static, FLASH, Blocking, FLASH_BYTES>;

/// Pulls GP1 up and enables its Schmitt trigger: a floating pin next to a transmitting one picks up
/// noise. The driver sets neither.
fn calm_receiver() {
    pac::PADS_BANK0.gpio(1).modify(|pad| {
        pad.set_pue(true);
        pad.set_pde(false);
        pad.set_schmitt(true);
    });
}

/// Returns whether there is a boot ROM, which is needed to write flash; emulators other than ours
/// may have none.
fn has_boot_rom() -> bool {
    /// Address of the boot ROM's magic number, which opens its function table.
    const ROM_MAGIC: *const [u8; 2] = 0x10 as *const [u8; 2];
    // SAFETY: the boot ROM is mapped at address 0 on either chip and is read-only.
    unsafe { ROM_MAGIC.read_volatile() == *b"Mu" }
}

/// The chip's watchdog timer.
pub struct FedWatchdog(Watchdog);

impl platform::Watchdog for FedWatchdog {
    fn feed(&mut self) {
        self.0.feed(Duration::from_millis(WATCHDOG_MS.into()));
    }
}

impl platform::StatusLed for Output<'static> {
    fn set(&mut self, lit: bool) {
        self.set_level(lit.into());
    }
}
