//! The interrupts of the machine: their numbers and the vector table.

use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;

/// The interrupts that this board uses.
#[derive(Clone, Copy)]
#[repr(u16)]
pub enum Interrupt {
    UartReceive = 0,
    UartTransmit = 1,
    TimerWrapped = 8,
    TimerAlarm = 9,
}

// SAFETY: each variant is the number of that line on the mps2-an386 and below 32.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}

/// Unmasks an interrupt.
pub fn unmask(interrupt: Interrupt) {
    // SAFETY: every interrupt of the enum has a handler in the table below, and no critical
    // section of this program relies on a single line being masked.
    unsafe { NVIC::unmask(interrupt) }
}

unsafe extern "C" {
    fn UART0_RX();
    fn UART0_TX();
    fn TIMER0();
    fn TIMER1();
    fn DefaultHandler();
}

/// The interrupt vectors that `cortex-m-rt` places after the exceptions.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [unsafe extern "C" fn(); 32] = {
    let mut table: [unsafe extern "C" fn(); 32] = [DefaultHandler; 32];
    table[Interrupt::UartReceive as usize] = UART0_RX;
    table[Interrupt::UartTransmit as usize] = UART0_TX;
    table[Interrupt::TimerWrapped as usize] = TIMER0;
    table[Interrupt::TimerAlarm as usize] = TIMER1;
    table
};
