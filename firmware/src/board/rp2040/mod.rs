//! Raspberry Pi Pico: RP2040 at 125 MHz, the link on UART0 (GP0 transmits, GP1 receives) and on
//! USB CDC-ACM at once, the lamp on GP25.

use embassy_executor::Spawner;
use embassy_rp::flash::{Blocking, FLASH_BASE, Flash};
use embassy_rp::gpio::{Level, Output};
use embassy_rp::peripherals::{FLASH, UART0, USB};
use embassy_rp::uart::{self, BufferedInterruptHandler, BufferedUart};
use embassy_rp::usb::InterruptHandler;
use embassy_rp::watchdog::Watchdog;
use embassy_rp::{bind_interrupts, pac};
use embassy_time::Duration;
use gleaner_shared::wire::message::DeviceId;
use static_cell::StaticCell;

use super::clock::EmbassyClock;
use super::crash::{self, CrashRam};
use super::memory::{self, RetainedRam};
use super::systick::SysTickCounter;
use super::{BAUD, WATCHDOG_MS};
use crate::entropy;
use crate::keys::Slots;
use crate::platform::{self, Board, Platform, StackUse};

mod ports;
pub(super) mod reset;
mod usb;

pub use ports::{PortsRx, PortsTx};

bind_interrupts!(struct Irqs {
    UART0_IRQ => BufferedInterruptHandler<UART0>;
    USBCTRL_IRQ => InterruptHandler<USB>;
});

/// The Pico's flash chip.
const FLASH_BYTES: usize = 2 * 1024 * 1024;

/// Receives while the core trains: at 921,600 baud a training step of 2 ms brings 184 bytes.
const RX_BUFFER_BYTES: usize = 2_048;
const TX_BUFFER_BYTES: usize = 256;

/// The Raspberry Pi Pico.
pub struct Pico;

impl Platform for Pico {
    type Rx = PortsRx;
    type Tx = PortsTx;
    type Clock = EmbassyClock;
    type Cycles = SysTickCounter;
    type Watchdog = FedWatchdog;
    type Lamp = Output<'static>;
    type Retained = RetainedRam;
    type Crashes = CrashRam;
    type Flash = PicoFlash;

    const NAME: &'static str = "rp2040";
    const CYCLES_PER_SAMPLE: u32 = 80_000;

    fn stack_use() -> StackUse {
        memory::stack_use()
    }

    fn reset() -> ! {
        crash::restart()
    }
}

/// Brings the board up.
pub fn start(spawner: Spawner) -> Board<Pico> {
    static RX: StaticCell<[u8; RX_BUFFER_BYTES]> = StaticCell::new();
    static TX: StaticCell<[u8; TX_BUFFER_BYTES]> = StaticCell::new();

    let reset = reset::cause();
    let p = embassy_rp::init(Default::default());
    let mut flash = has_boot_rom().then(|| PicoFlash::new_blocking(p.FLASH));
    let device = device_id(flash.as_mut());

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
    let (uart_tx, uart_rx) = uart.split();
    let (usb_tx, usb_rx) = usb::start(spawner, p.USB, &device);

    let mut watchdog = Watchdog::new(p.WATCHDOG);
    // Whoever looks at the program with a debugger has more than two seconds.
    watchdog.pause_on_debug(true);
    watchdog.start(Duration::from_millis(WATCHDOG_MS.into()));

    Board {
        rx: PortsRx::new(uart_rx, usb_rx),
        tx: PortsTx::new(uart_tx, usb_tx),
        clock: EmbassyClock,
        cycles: SysTickCounter::start(),
        watchdog: FedWatchdog(watchdog),
        lamp: Output::new(p.PIN_25, Level::Low),
        retained: RetainedRam::new(),
        crashes: CrashRam::new(),
        reset,
        shard: memory::shard(),
        key_slots: flash.map(|flash| {
            let offset = memory::keys_address() - FLASH_BASE.addr();
            Slots::new(flash, offset as u32)
        }),
        device,
        entropy: entropy::from_raw_bits(oscillator_bit),
    }
}

/// The flash chip. The boot ROM erases and programs it while nothing runs from it: interrupts wait
/// for some 50 ms, at worst 400, and bytes that come on the UART meanwhile are lost and said again.
type PicoFlash = Flash<'static, FLASH, Blocking, FLASH_BYTES>;

/// Tells whether there is a boot ROM, which alone can speak to the flash chip; an emulator has
/// none.
fn has_boot_rom() -> bool {
    /// Address of the boot ROM's magic number, which opens its function table.
    const ROM_MAGIC: *const [u8; 2] = 0x10 as *const [u8; 2];
    // SAFETY: the boot ROM is mapped at address 0 on every RP2040 and is read-only.
    unsafe { ROM_MAGIC.read_volatile() == *b"Mu" }
}

/// Returns the flash chip's unique number, or zeros where it cannot be read.
fn device_id(flash: Option<&mut PicoFlash>) -> DeviceId {
    /// Bytes of the chip's number on the Pico's flash.
    const UNIQUE_BYTES: usize = 8;
    let mut id = DeviceId::default();
    if let Some(flash) = flash {
        // A chip that does not answer keeps the zeros; the shard's client id still tells it apart.
        let _ = flash.blocking_unique_id(&mut id.0[..UNIQUE_BYTES]);
    }
    id
}

/// Reads a bit of the ring oscillator, which runs beside the crystal that clocks the core.
///
/// embassy-rp's `RoscRng` reads as fast as the core can, several times within one period of the
/// oscillator's 6.5 MHz, and gets the same bit again. Raspberry Pi's SDK (`pico_rand`) and ports
/// that passed statistical tests leave about ten microseconds, 65 periods whose jitter adds up.
/// The maker promises no randomness at all (datasheet, 2.17.5), hence the tests and the small
/// share of a bit assumed in [`entropy`].
fn oscillator_bit() -> bool {
    embassy_time::block_for(Duration::from_micros(10));
    pac::ROSC.randombit().read().randombit()
}

/// The chip's watchdog.
pub struct FedWatchdog(Watchdog);

impl platform::Watchdog for FedWatchdog {
    fn feed(&mut self) {
        self.0.feed(Duration::from_millis(WATCHDOG_MS.into()));
    }
}

impl platform::Lamp for Output<'static> {
    fn set(&mut self, lit: bool) {
        self.set_level(lit.into());
    }
}
