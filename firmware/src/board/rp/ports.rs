//! UART0 and USB as one link: the client listens on both and answers on the active port.
//!
//! The active port is the one that last delivered a complete frame; noise on an unconnected pin
//! delivers none. While the active port delivers bytes, those of the other port are dropped, so
//! that they cannot damage its frames. Before there is an active port, the client sends on both.

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

/// The sending half of UART0.
pub(super) type UartTx = Sender<BufferedUartTx, EmbassyClock, fn()>;

/// The port that last delivered bytes.
static READ: AtomicU8 = AtomicU8::new(NOBODY);
/// The active port, where the base station is.
static SETTLED: AtomicU8 = AtomicU8::new(NOBODY);
const NOBODY: u8 = 0;
const UART: u8 = 1;
const USB: u8 = 2;

/// A USB host that does not fetch a packet for this long has closed the port.
const USB_PATIENCE: Duration = Duration::from_millis(100);
/// A base station silent for this long may have moved to the other port; its keep-alive is more
/// frequent.
const SILENCE: Duration = Duration::from_secs(3);

/// Makes the port that last delivered bytes the active one.
pub(super) fn settle() {
    SETTLED.store(READ.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Returns whether UART0 is the active port.
pub(super) fn is_at_uart() -> bool {
    SETTLED.load(Ordering::Relaxed) == UART
}

/// Receives from the active port, or from both while there is none.
pub struct PortsRx {
    uart: BufferedUartRx,
    usb: UsbRx,
    /// Time of the last bytes from the active port.
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

    /// Returns whether bytes of this port must be dropped because the other one is active.
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
            // Starts with a delimiter, which ends an unfinished frame of the other port.
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
        // Line errors (a break, an overrun) damage a frame, which its checksum detects.
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

/// Sends to the active port.
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
            // The port was closed. The bytes are dropped: a lost frame is sent again.
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
