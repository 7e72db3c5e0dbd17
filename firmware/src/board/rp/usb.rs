//! The Pico's USB port as a serial port (CDC-ACM).

use embassy_executor::Spawner;
use embassy_rp::Peri;
use embassy_rp::peripherals::USB;
use embassy_rp::usb::Driver;
use embassy_usb::class::cdc_acm::{BufferedReceiver, CdcAcmClass, Sender, State};
use embassy_usb::{Builder, Config, UsbDevice};
use gleaner_shared::wire::message::DeviceId;
use static_cell::StaticCell;

use super::Irqs;

/// Largest packet of a full-speed bulk endpoint.
pub const PACKET_BYTES: usize = 64;

/// Identifiers of the pid.codes test range: for laboratory use, not for products.
const VENDOR_ID: u16 = 0x1209;
const PRODUCT_ID: u16 = if cfg!(feature = "board-rp2350") {
    0x0002
} else {
    0x0001
};

pub type UsbTx = Sender<'static, Driver<'static, USB>>;
pub type UsbRx = BufferedReceiver<'static, Driver<'static, USB>>;

/// Starts the USB device and returns its serial port.
pub fn start(spawner: Spawner, usb: Peri<'static, USB>, device: &DeviceId) -> (UsbTx, UsbRx) {
    static SERIAL: StaticCell<[u8; 24]> = StaticCell::new();
    static CONFIGURATION: StaticCell<[u8; 128]> = StaticCell::new();
    static CONTROL: StaticCell<[u8; 64]> = StaticCell::new();
    static STATE: StaticCell<State<'static>> = StaticCell::new();
    static PACKET: StaticCell<[u8; PACKET_BYTES]> = StaticCell::new();

    let mut config = Config::new(VENDOR_ID, PRODUCT_ID);
    config.manufacturer = Some("Gleaner");
    config.product = Some("Gleaner client");
    config.serial_number = Some(hexadecimal(device, SERIAL.init([0; 24])));
    let mut builder = Builder::new(
        Driver::new(usb, Irqs),
        config,
        CONFIGURATION.init([0; 128]),
        &mut [],
        &mut [],
        CONTROL.init([0; 64]),
    );
    let class = CdcAcmClass::new(&mut builder, STATE.init(State::new()), PACKET_BYTES as u16);
    spawner.spawn(run(builder.build()).expect("the USB task is spawned once"));
    let (tx, rx) = class.split();
    (tx, rx.into_buffered(PACKET.init([0; PACKET_BYTES])))
}

#[embassy_executor::task]
async fn run(mut device: UsbDevice<'static, Driver<'static, USB>>) -> ! {
    device.run().await
}

/// Writes the chip's number in hexadecimal, the USB serial number by which the host finds a board.
fn hexadecimal<'a>(device: &DeviceId, text: &'a mut [u8; 24]) -> &'a str {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for (pair, byte) in text.chunks_exact_mut(2).zip(&device.0) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    core::str::from_utf8(text).unwrap_or_default()
}
