//! UART0 and USB as one link: the client listens on both and answers where it was last spoken to.
//!
//! Until someone spoke it sends on both. Frames are delimited, so a change of port in the middle
//! of one costs that frame and nothing else.

use core::convert::Infallible;
use core::sync::atomic::{AtomicU8, Ordering};

use embassy_futures::select::{Either, select};
use embassy_rp::uart::{BufferedUartRx, BufferedUartTx};
use embassy_time::{Duration, with_timeout};
use embedded_io_async::{ErrorType, Read, Write};

use super::usb::{PACKET_BYTES, UsbRx, UsbTx};

/// The port that last brought bytes.
static HEARD: AtomicU8 = AtomicU8::new(NOBODY);
const NOBODY: u8 = 0;
const UART: u8 = 1;
const USB: u8 = 2;

/// A USB host that does not fetch a packet for so long has closed the port.
const USB_PATIENCE: Duration = Duration::from_millis(100);

/// Bytes from whichever port brings them.
pub struct PortsRx {
    uart: BufferedUartRx,
    usb: UsbRx,
}

impl PortsRx {
    pub(super) fn new(uart: BufferedUartRx, usb: UsbRx) -> Self {
        Self { uart, usb }
    }
}

impl ErrorType for PortsRx {
    type Error = Infallible;
}

impl Read for PortsRx {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let mut packet = [0; PACKET_BYTES];
        let wanted = buffer.len().min(PACKET_BYTES);
        let from_usb = read_usb(&mut self.usb, &mut packet[..wanted]);
        match select(read_uart(&mut self.uart, buffer), from_usb).await {
            Either::First(count) => {
                HEARD.store(UART, Ordering::Relaxed);
                Ok(count)
            }
            Either::Second(count) => {
                HEARD.store(USB, Ordering::Relaxed);
                buffer[..count].copy_from_slice(&packet[..count]);
                Ok(count)
            }
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

/// Bytes to the port that last spoke.
pub struct PortsTx {
    uart: BufferedUartTx,
    usb: UsbTx,
}

impl PortsTx {
    pub(super) fn new(uart: BufferedUartTx, usb: UsbTx) -> Self {
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
            HEARD.store(NOBODY, Ordering::Relaxed);
        }
        packet.len()
    }
}

impl ErrorType for PortsTx {
    type Error = Infallible;
}

impl Write for PortsTx {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        Ok(match HEARD.load(Ordering::Relaxed) {
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
