//! UART0 and USB as one link: the client listens on both and answers where the base station is.
//!
//! That is the port which last brought a whole frame: noise on a pin that nobody holds makes none.
//! While it goes on bringing bytes, those of the other port are dropped, so that they neither
//! damage its frames nor move the link; until there is one, the client sends on both.

use core::convert::Infallible;
use core::sync::atomic::{AtomicU8, Ordering};

use embassy_futures::select::{Either, select};
use embassy_rp::uart::{BufferedUartRx, BufferedUartTx};
use embassy_time::{Duration, Instant, with_timeout};
use embedded_io_async::{ErrorType, Read, Write};
use gleaner_shared::wire::DELIMITER;

use super::usb::{PACKET_BYTES, UsbRx, UsbTx};
use crate::board::clock::EmbassyClock;
use crate::sender::Sender;

/// UART0's sending half.
pub(super) type UartTx = Sender<BufferedUartTx, EmbassyClock, fn()>;

/// The port that last brought bytes.
static READ: AtomicU8 = AtomicU8::new(NOBODY);
/// The port where the base station is.
static SETTLED: AtomicU8 = AtomicU8::new(NOBODY);
const NOBODY: u8 = 0;
const UART: u8 = 1;
const USB: u8 = 2;

/// A USB host that does not fetch a packet for so long has closed the port.
const USB_PATIENCE: Duration = Duration::from_millis(100);
/// A base station that says nothing for so long may be elsewhere: it asks for signs of life more
/// often.
const SILENCE: Duration = Duration::from_secs(3);

/// Takes note that the bytes which were last read ended a whole frame.
pub(super) fn settle() {
    SETTLED.store(READ.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Tells whether the base station is at the UART.
pub(super) fn is_at_uart() -> bool {
    SETTLED.load(Ordering::Relaxed) == UART
}

/// Bytes from the port where the base station is, or from both while it is at none.
pub struct PortsRx {
    uart: BufferedUartRx,
    usb: UsbRx,
    /// When the port where the base station is last brought bytes.
    heard: Instant,
}

impl PortsRx {
    pub(super) fn new(uart: BufferedUartRx, usb: UsbRx) -> Self {
        Self {
            uart,
            usb,
            heard: Instant::MIN,
        }
    }

    /// Tells whether the base station has been at the other port until now.
    fn is_foreign(&mut self, port: u8) -> bool {
        let (settled, now) = (SETTLED.load(Ordering::Relaxed), Instant::now());
        if settled != NOBODY && settled != port && now < self.heard + SILENCE {
            return true;
        }
        self.heard = now;
        false
    }
}

impl ErrorType for PortsRx {
    type Error = Infallible;
}

impl Read for PortsRx {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        if buffer.len() < 2 {
            return Ok(0);
        }
        loop {
            // Behind a delimiter, which ends what another port left unfinished.
            let last = READ.load(Ordering::Relaxed);
            let start = |port| usize::from(port != last);
            let mut packet = [0; PACKET_BYTES];
            let wanted = PACKET_BYTES.min(buffer.len() - 1);
            let from_uart = read_uart(&mut self.uart, &mut buffer[start(UART)..]);
            let from_usb = read_usb(&mut self.usb, &mut packet[..wanted]);
            let (port, count) = match select(from_uart, from_usb).await {
                Either::First(count) => (UART, count),
                Either::Second(count) => {
                    buffer[start(USB)..][..count].copy_from_slice(&packet[..count]);
                    (USB, count)
                }
            };
            if self.is_foreign(port) {
                continue;
            }
            READ.store(port, Ordering::Relaxed);
            if port != last {
                buffer[0] = DELIMITER;
            }
            return Ok(start(port) + count);
        }
    }
}

async fn read_uart(uart: &mut BufferedUartRx, buffer: &mut [u8]) -> usize {
    loop {
        // Line errors (a break, an overrun) damage a frame, which its checksum tells.
        if let Ok(count) = uart.read(buffer).await {
            return count;
        }
    }
}

async fn read_usb(usb: &mut UsbRx, buffer: &mut [u8]) -> usize {
    loop {
        usb.wait_connection().await;
        if let Ok(count) = usb.read(buffer).await
            && count > 0
        {
            return count;
        }
    }
}

/// Bytes to the port where the base station is.
pub struct PortsTx {
    uart: UartTx,
    usb: UsbTx,
}

impl PortsTx {
    pub(super) fn new(uart: UartTx, usb: UsbTx) -> Self {
        Self { uart, usb }
    }

    async fn write_uart(&mut self, bytes: &[u8]) -> usize {
        // The UART cannot fail to send; a zero would only make the caller try again.
        self.uart.write(bytes).await.unwrap_or(0)
    }

    async fn write_usb(&mut self, bytes: &[u8]) -> usize {
        // One byte less than a full packet ends the transfer without an empty packet after it.
        let packet = &bytes[..bytes.len().min(PACKET_BYTES - 1)];
        let sent = self.usb.dtr()
            && with_timeout(USB_PATIENCE, self.usb.write_packet(packet))
                .await
                .is_ok_and(|result| result.is_ok());
        if !sent {
            // Nobody listens there any more. The bytes are dropped: a lost frame is sent again.
            SETTLED.store(NOBODY, Ordering::Relaxed);
        }
        packet.len()
    }
}

impl ErrorType for PortsTx {
    type Error = Infallible;
}

impl Write for PortsTx {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        Ok(match SETTLED.load(Ordering::Relaxed) {
            UART => self.write_uart(bytes).await,
            USB => self.write_usb(bytes).await,
            _ => {
                let count = self.write_uart(bytes).await;
                if self.usb.dtr() {
                    for packet in bytes[..count].chunks(PACKET_BYTES - 1) {
                        self.write_usb(packet).await;
                    }
                }
                count
            }
        })
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        let _ = self.uart.flush().await;
        Ok(())
    }
}
