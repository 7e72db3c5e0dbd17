//! The CMSDK UART, one byte deep in each direction, behind two pipes that its interrupts serve.

use core::convert::Infallible;

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::pipe::Pipe;
use embedded_io_async::{ErrorType, Read, Write};

use super::register::Register;
use super::vector::{Interrupt, unmask};

const DATA: Register = Register::at(0x4000_4000);
const STATE: Register = Register::at(0x4000_4004);
const CONTROL: Register = Register::at(0x4000_4008);
const INTERRUPT: Register = Register::at(0x4000_400C);
const DIVIDER: Register = Register::at(0x4000_4010);

const TRANSMIT_FULL: u32 = 1 << 0;
const RECEIVE_FULL: u32 = 1 << 1;
const ENABLE_BOTH_WITH_INTERRUPTS: u32 = 0b1111;
const RECEIVE_INTERRUPT_OFF: u32 = 0b0111;

/// The smallest divider: the socket behind the UART has no baud rate.
const FASTEST: u32 = 16;

static RECEIVED: Pipe<CriticalSectionRawMutex, 2048> = Pipe::new();
static TO_SEND: Pipe<CriticalSectionRawMutex, 256> = Pipe::new();

/// The receiving half of the UART.
pub struct UartRx(());
/// The sending half of the UART.
pub struct UartTx(());

pub fn start() -> (UartTx, UartRx) {
    DIVIDER.write(FASTEST);
    CONTROL.write(ENABLE_BOTH_WITH_INTERRUPTS);
    unmask(Interrupt::UartReceive);
    unmask(Interrupt::UartTransmit);
    (UartTx(()), UartRx(()))
}

impl ErrorType for UartRx {
    type Error = Infallible;
}

impl Read for UartRx {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let count = RECEIVED.read(buffer).await;
        // The pipe has room again: read the byte that waited in the UART and clear its interrupt.
        critical_section::with(|_| receive());
        Ok(count)
    }
}

impl ErrorType for UartTx {
    type Error = Infallible;
}

impl Write for UartTx {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        let count = TO_SEND.write(bytes).await;
        critical_section::with(|_| send());
        Ok(count)
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Moves bytes from the UART to the pipe; if the pipe is full, the next byte stays in the UART and
/// its sender waits.
fn receive() {
    CONTROL.write(ENABLE_BOTH_WITH_INTERRUPTS);
    while STATE.read() & RECEIVE_FULL != 0 {
        if RECEIVED.is_full() {
            CONTROL.write(RECEIVE_INTERRUPT_OFF);
            return;
        }
        let byte = DATA.read() as u8;
        let _ = RECEIVED.try_write(&[byte]);
    }
}

/// Moves bytes from the pipe to the UART until the pipe is empty or the UART is full.
fn send() {
    let mut byte = [0];
    while STATE.read() & TRANSMIT_FULL == 0 && TO_SEND.try_read(&mut byte) == Ok(1) {
        DATA.write(u32::from(byte[0]));
    }
}

#[unsafe(no_mangle)]
extern "C" fn UART0_RX() {
    INTERRUPT.write(0b10);
    critical_section::with(|_| receive());
}

#[unsafe(no_mangle)]
extern "C" fn UART0_TX() {
    INTERRUPT.write(0b01);
    critical_section::with(|_| send());
}
