//! Raspberry Pi Pico: RP2040 at 125 MHz, the link on UART0 (GP0 transmits, GP1 receives) and on
//! USB CDC-ACM at once, the lamp on GP25.

use embassy_executor::Spawner;
use embassy_rp::bind_interrupts;
use embassy_rp::flash::{Blocking, Flash};
use embassy_rp::gpio::{Level, Output};
use embassy_rp::peripherals::{UART0, USB};
use embassy_rp::uart::{self, BufferedInterruptHandler, BufferedUart};
use embassy_rp::usb::InterruptHandler;
use embassy_rp::watchdog::Watchdog;
use embassy_time::Duration;
use static_cell::StaticCell;

use super::{BAUD, WATCHDOG_MS, memory};
use crate::board::systick::SysTickCounter;
use crate::platform::{self, Board};

mod ports;
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

/// Brings the board up.
pub fn start(
    spawner: Spawner,
) -> Board<PortsRx, PortsTx, SysTickCounter, FedWatchdog, Output<'static>> {
    static RX: StaticCell<[u8; RX_BUFFER_BYTES]> = StaticCell::new();
    static TX: StaticCell<[u8; TX_BUFFER_BYTES]> = StaticCell::new();

    let p = embassy_rp::init(Default::default());
    let clock_hz = embassy_rp::clocks::clk_sys_freq();
    let device_id = device_id(p.FLASH);

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
    let (usb_tx, usb_rx) = usb::start(spawner, p.USB, &device_id);

    let mut watchdog = Watchdog::new(p.WATCHDOG);
    watchdog.start(Duration::from_millis(WATCHDOG_MS.into()));

    Board {
        rx: PortsRx::new(uart_rx, usb_rx),
        tx: PortsTx::new(uart_tx, usb_tx),
        cycles: SysTickCounter::start(),
        watchdog: FedWatchdog(watchdog),
        lamp: Output::new(p.PIN_25, Level::Low),
        shard: memory::shard(),
        device_id,
        clock_hz,
        stack: memory::stack_use,
    }
}

/// Returns the flash chip's unique number, or zeros where there is no boot ROM to read it with
/// (an emulator).
fn device_id(flash: embassy_rp::Peri<'static, embassy_rp::peripherals::FLASH>) -> [u8; 8] {
    /// Address of the boot ROM's magic number, which opens its function table.
    const ROM_MAGIC: *const [u8; 2] = 0x10 as *const [u8; 2];
    let mut id = [0; 8];
    // SAFETY: the boot ROM is mapped at address 0 on every RP2040 and is read-only.
    if unsafe { ROM_MAGIC.read_volatile() } == *b"Mu" {
        let mut flash = Flash::<_, Blocking, FLASH_BYTES>::new_blocking(flash);
        // A chip that does not answer keeps the zeros; the shard's client id still tells it apart.
        let _ = flash.blocking_unique_id(&mut id);
    }
    id
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
