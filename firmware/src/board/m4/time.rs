//! `embassy-time` driver on two CMSDK timers: one runs freely, the other is the alarm.

use core::cell::{Cell, RefCell};
use core::task::Waker;

use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;

use super::TICK_HZ;
use super::register::Register;
use super::vector::{Interrupt, unmask};

const TICKS_PER_MICRO: u64 = TICK_HZ as u64 / 1_000_000;

/// A CMSDK APB timer: counts down to zero, then restarts from its reload value.
struct Timer {
    control: Register,
    value: Register,
    reload: Register,
    interrupt: Register,
}

impl Timer {
    const ENABLE_WITH_INTERRUPT: u32 = 0b1001;

    const fn at(base: usize) -> Self {
        Self {
            control: Register::at(base),
            value: Register::at(base + 4),
            reload: Register::at(base + 8),
            interrupt: Register::at(base + 12),
        }
    }

    fn run(&self, first: u32, then: u32) {
        self.control.write(0);
        // The order matters: writing the reload value also sets the current value.
        self.reload.write(then);
        self.value.write(first);
        self.control.write(Self::ENABLE_WITH_INTERRUPT);
    }

    fn take_interrupt(&self) {
        self.interrupt.write(1);
    }
}

static COUNTER: Timer = Timer::at(0x4000_0000);
static ALARM: Timer = Timer::at(0x4000_1000);

/// The free-running counter, used to measure time.
pub struct FreeRunning(());

impl FreeRunning {
    /// Returns the low 32 bits of the ticks since start.
    pub fn ticks(&self) -> u32 {
        !COUNTER.value.read()
    }
}

struct TimerDriver {
    wraps: Mutex<Cell<u32>>,
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static DRIVER: TimerDriver = TimerDriver {
    wraps: Mutex::new(Cell::new(0)),
    queue: Mutex::new(RefCell::new(Queue::new())),
});

/// Starts both timers.
pub fn start() -> FreeRunning {
    COUNTER.run(u32::MAX, u32::MAX);
    unmask(Interrupt::TimerWrapped);
    unmask(Interrupt::TimerAlarm);
    FreeRunning(())
}

impl TimerDriver {
    fn ticks(&self, cs: CriticalSection<'_>) -> u64 {
        let mut wraps = u64::from(self.wraps.borrow(cs).get());
        let mut low = !COUNTER.value.read();
        if COUNTER.interrupt.read() != 0 {
            // The counter wrapped and its interrupt is pending; a second read is after the wrap.
            wraps += 1;
            low = !COUNTER.value.read();
        }
        wraps << 32 | u64::from(low)
    }

    /// Sets the alarm for `at` microseconds; returns false if that time has passed.
    fn set_alarm(&self, cs: CriticalSection<'_>, at: u64) -> bool {
        ALARM.control.write(0);
        ALARM.take_interrupt();
        if at == u64::MAX {
            return true;
        }
        let due = at.saturating_mul(TICKS_PER_MICRO);
        let Some(ahead) = due.checked_sub(self.ticks(cs)).filter(|&ahead| ahead > 0) else {
            return false;
        };
        // An alarm that fires early finds nothing due and sets the alarm again.
        ALARM.run(ahead.min(u64::from(u32::MAX)) as u32, u32::MAX);
        true
    }

    fn dispatch(&self, cs: CriticalSection<'_>) {
        let mut queue = self.queue.borrow(cs).borrow_mut();
        let mut next = queue.next_expiration(self.ticks(cs) / TICKS_PER_MICRO);
        while !self.set_alarm(cs, next) {
            next = queue.next_expiration(self.ticks(cs) / TICKS_PER_MICRO);
        }
    }
}

impl Driver for TimerDriver {
    fn now(&self) -> u64 {
        critical_section::with(|cs| self.ticks(cs)) / TICKS_PER_MICRO
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| {
            if self.queue.borrow(cs).borrow_mut().schedule_wake(at, waker) {
                self.dispatch(cs);
            }
        });
    }
}

#[unsafe(no_mangle)]
extern "C" fn TIMER0() {
    critical_section::with(|cs| {
        COUNTER.take_interrupt();
        let wraps = DRIVER.wraps.borrow(cs);
        wraps.set(wraps.get().wrapping_add(1));
    });
}

#[unsafe(no_mangle)]
extern "C" fn TIMER1() {
    critical_section::with(|cs| DRIVER.dispatch(cs));
}
