//! The firmware's client in this process: the same runner as on a board, over a paced line in
//! virtual time. As on a board, it runs only after a wake-up.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use embedded_io_async::{ErrorType, Read, Write};
use gleaner_firmware::app::NoApp;
use gleaner_firmware::app::replay::Replay;
use gleaner_firmware::app::window::Window;
use gleaner_firmware::crash::{CRASH_BYTES, record_fault};
use gleaner_firmware::gather::Ring;
use gleaner_firmware::keys::Slots;
use gleaner_firmware::model::Memory;
use gleaner_firmware::platform::{
    Board, Clock, CycleCounter, Gauge, Platform, StackUse, StatusLed, Watchdog,
};
use gleaner_firmware::retained::{RECORD_BYTES, Retained};
use gleaner_firmware::runner::Runner;
use gleaner_firmware::saved::{Region, SECTORS, SavedRing, ring_sectors};
use gleaner_shared::mlp::Alone;
use gleaner_shared::units::{Cycles, Micros};
use gleaner_shared::wire::message::{DeviceId, ResetCause};

use crate::nor::{Nor, SECTOR};
use crate::wire::Wire;

/// Ten bits a byte at 921,600 baud, in nanoseconds.
const BYTE_NANOS: u64 = 10_851;
/// Modelled time of one look at the clock during training.
const STEP_MICROS: u64 = 5;

/// Expected cycles of an epoch per sample.
pub const CYCLES_PER_SAMPLE: u32 = 80_000;

/// Samples the application keeps.
const SAMPLES: usize = 16;
/// Where the state begins, behind two keys and what the application keeps.
pub const STATE: usize = (2 + ring_sectors(SAMPLES)) * SECTOR;

/// Returns new flash for keys and state, whose accidents are drawn from `seed`.
#[must_use]
pub fn flash(seed: u64) -> Nor {
    Nor::new(STATE / SECTOR + SECTORS, seed)
}

/// What the client and its line share.
#[derive(Default)]
pub(crate) struct Deployment {
    pub(crate) now: Micros,
    wake: Option<Micros>,
    /// Interrupts to come and whom they wake.
    pub(crate) interrupts: Vec<(Micros, Waker)>,
    to_device: Direction,
    pub(crate) to_host: Direction,
    retained: Option<[u8; RECORD_BYTES]>,
    crash: Option<[u8; CRASH_BYTES]>,
    fed: Micros,
    reboot: bool,
    clock_hz: u32,
}

/// One direction of the line: bytes and the moment each has arrived.
#[derive(Default)]
pub(crate) struct Direction {
    bytes: VecDeque<(Micros, u8)>,
    busy_until_nanos: u64,
}

impl Direction {
    pub(crate) fn put(&mut self, now: Micros, bytes: &[u8]) {
        self.busy_until_nanos = self.busy_until_nanos.max(now.0 * 1_000);
        for &byte in bytes {
            self.busy_until_nanos += BYTE_NANOS;
            self.bytes
                .push_back((Micros(self.busy_until_nanos.div_ceil(1_000)), byte));
        }
    }

    fn take(&mut self, now: Micros, room: usize) -> Vec<u8> {
        let ready = self.bytes.iter().take_while(|(at, _)| *at <= now).count();
        let taken = self.bytes.drain(..ready.min(room));
        taken.map(|(_, byte)| byte).collect()
    }

    fn next_arrival(&self) -> Option<Micros> {
        self.bytes.front().map(|(at, _)| *at)
    }

    /// Returns how many bytes have not left by `now`.
    pub(crate) fn leaving_after(&self, now: Micros) -> usize {
        self.bytes.iter().filter(|(at, _)| *at > now).count()
    }

    /// Returns when the last byte so far has left.
    pub(crate) fn silent_at(&self) -> Micros {
        Micros(self.busy_until_nanos.div_ceil(1_000))
    }
}

pub(crate) type Shared = Rc<RefCell<Deployment>>;

type Program = Pin<Box<dyn Future<Output = ()>>>;

/// Whether the client was woken since it last ran.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The firmware's client without a board.
pub struct InProcess {
    world: Shared,
    shard: &'static [u8],
    flash: Nor,
    boot: fn(&Shared, &'static [u8], &Nor) -> Program,
    client: Program,
    woken: Arc<Woken>,
}

impl InProcess {
    /// Starts a client whose flash holds `shard`.
    #[must_use]
    pub fn start(shard: &[u8]) -> Self {
        Self::start_on(shard, flash(0))
    }

    /// The same, with this flash for its keys and its state.
    #[must_use]
    pub fn start_on(shard: &[u8], flash: Nor) -> Self {
        Self::start_with(shard, flash, |world, shard, flash| {
            boot(world, Tx(world.clone()), shard, flash, run_client)
        })
    }

    /// The same with the example application of the emulated board beside the client.
    #[must_use]
    pub fn start_with_app(shard: &[u8]) -> Self {
        Self::start_with(shard, flash(0), |world, shard, flash| {
            boot(world, Tx(world.clone()), shard, flash, run_app)
        })
    }

    /// Lets the program die of a fault at these addresses: it leaves its last words and starts again.
    pub fn fault(&mut self, pc: u32, lr: u32) {
        record_fault(&mut LastWords(self.world.clone()), pc, lr);
        self.reset();
    }

    /// The same, started by a function that brings the driver of its port.
    pub(crate) fn start_with(
        shard: &[u8],
        flash: Nor,
        boot: fn(&Shared, &'static [u8], &Nor) -> Program,
    ) -> Self {
        let world = Shared::default();
        // A board's flash outlives its program.
        let shard = Box::leak(shard.to_vec().into_boxed_slice());
        let client = boot(&world, shard, &flash);
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        Self {
            world,
            shard,
            flash,
            boot,
            client,
            woken,
        }
    }

    /// Runs the client if something has woken it.
    fn run_if_woken(&mut self) {
        {
            let mut world = self.world.borrow_mut();
            let now = world.now;
            let timer = world.wake.is_some_and(|at| at <= now);
            let bytes = world.to_device.next_arrival().is_some_and(|at| at <= now);
            world.interrupts.retain(|(at, waker)| {
                let due = *at <= now;
                if due {
                    waker.wake_by_ref();
                }
                !due
            });
            let woken = self.woken.0.swap(false, Ordering::Relaxed);
            if !(timer || bytes || woken) {
                return;
            }
            world.wake = None;
        }
        let waker = Waker::from(self.woken.clone());
        let _ = self.client.as_mut().poll(&mut Context::from_waker(&waker));
    }

    /// Returns how long ago the client last fed its watchdog.
    #[must_use]
    pub fn hunger(&self) -> Micros {
        let world = self.world.borrow();
        world.now.saturating_sub(world.fed)
    }

    /// Cuts the power: RAM that would survive a reset is lost too.
    pub fn power_cycle(&mut self) {
        self.world.borrow_mut().retained = None;
        self.world.borrow_mut().crash = None;
        self.flash.power_up();
        self.reset();
    }
}

/// Starts the firmware's runner with `tx` as the sending half of its port.
pub(crate) fn boot<T: Write + 'static>(
    world: &Shared,
    tx: T,
    shard: &'static [u8],
    flash: &Nor,
    run: fn(Board<InProcessBoard<T>>) -> Program,
) -> Program {
    let board = Board::<InProcessBoard<T>> {
        rx: Rx(world.clone()),
        tx,
        clock: VirtualClock(world.clone()),
        cycles: VirtualCycles(world.clone()),
        watchdog: Watched(world.clone()),
        led: Dark,
        retained: Kept(world.clone()),
        crashes: LastWords(world.clone()),
        reset: ResetCause::Pin,
        shard,
        key_slots: Some(Slots::new(flash.clone(), 0)),
        state: Some(Region::new(flash.clone(), STATE as u32)),
        device: DeviceId([1; 12]),
        helper: None,
        gauge: VirtualGauge::start(world),
        entropy: Some([9; 32]),
    };
    run(board)
}

/// Runs the client without an application.
pub(crate) fn run_client<T: Write + 'static>(board: Board<InProcessBoard<T>>) -> Program {
    Box::pin(async move {
        let mut memory = Box::new(Memory::new());
        Runner::place(&mut MaybeUninit::uninit(), board)
            .run(&mut memory, &mut NoApp)
            .await
    })
}

/// The example application of the emulated board beside it.
fn run_app<T: Write + 'static>(board: Board<InProcessBoard<T>>) -> Program {
    Box::pin(async move {
        let mut memory = Box::new(Memory::new());
        let sectors = ring_sectors(SAMPLES);
        let spare = board.state.as_ref().and_then(|it| it.in_front(sectors));
        let ring = SavedRing::open(spare, Box::leak(Box::new(Ring::<SAMPLES>::new())));
        let replay = Replay::new(board.shard);
        let mut app: Window<_, _, true> = Window::new(replay, ring, Micros(100_000));
        Runner::place(&mut MaybeUninit::uninit(), board)
            .run(&mut memory, &mut app)
            .await
    })
}

impl Wire for InProcess {
    fn now(&self) -> Micros {
        self.world.borrow().now
    }

    fn exchange(&mut self, to_device: &[u8], until: Micros) -> Vec<u8> {
        {
            let mut world = self.world.borrow_mut();
            let now = world.now;
            world.to_device.put(now, to_device);
        }
        loop {
            self.run_if_woken();
            if std::mem::take(&mut self.world.borrow_mut().reboot) {
                self.reset();
            }
            if self.flash.is_dead() {
                self.power_cycle();
            }
            let mut world = self.world.borrow_mut();
            let now = world.now;
            let bytes = world.to_host.take(now, usize::MAX);
            if !bytes.is_empty() || now >= until {
                return bytes;
            }
            let interrupt = world.interrupts.iter().map(|(at, _)| *at).min();
            let next = [
                interrupt,
                world.wake,
                world.to_device.next_arrival(),
                world.to_host.next_arrival(),
                Some(until),
            ];
            let next = match self.woken.0.load(Ordering::Relaxed) {
                true => now,
                false => next.into_iter().flatten().min().unwrap_or(until),
            };
            world.now = next.max(now.saturating_add(Micros(1)));
        }
    }

    fn reset(&mut self) {
        {
            let mut world = self.world.borrow_mut();
            world.to_device = Direction::default();
            world.to_host = Direction::default();
            world.interrupts.clear();
        }
        self.client = (self.boot)(&self.world, self.shard, &self.flash);
        self.woken.0.store(true, Ordering::Relaxed);
    }
}

/// The platform of a client in this process.
pub(crate) struct InProcessBoard<T>(PhantomData<T>);

impl<T: Write> Platform for InProcessBoard<T> {
    type Rx = Rx;
    type Tx = T;
    type Clock = VirtualClock;
    type Cycles = VirtualCycles;
    type Watchdog = Watched;
    type StatusLed = Dark;
    type Retained = Kept;
    type Crashes = LastWords;
    type Flash = Nor;
    type Partner = Alone;
    type Gauge = VirtualGauge;

    const NAME: &'static str = "in-process";

    fn stack_use() -> StackUse {
        StackUse::default()
    }

    fn reset() -> ! {
        unreachable!("the runner waits for the reset that its watchdog would bring")
    }
}

pub(crate) struct Rx(Shared);

impl ErrorType for Rx {
    type Error = Infallible;
}

impl Read for Rx {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        poll_fn(|_| {
            let mut world = self.0.borrow_mut();
            let now = world.now;
            let bytes = world.to_device.take(now, buffer.len());
            if bytes.is_empty() {
                return Poll::Pending;
            }
            buffer[..bytes.len()].copy_from_slice(&bytes);
            Poll::Ready(Ok(bytes.len()))
        })
        .await
    }
}

struct Tx(Shared);

impl ErrorType for Tx {
    type Error = Infallible;
}

impl Write for Tx {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        {
            let mut world = self.0.borrow_mut();
            let now = world.now;
            world.to_host.put(now, bytes);
        }
        let sent = Micros(self.0.borrow().to_host.busy_until_nanos / 1_000);
        VirtualClock(self.0.clone()).wait_until(sent).await;
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

pub(crate) struct VirtualClock(pub(crate) Shared);

impl Clock for VirtualClock {
    fn now(&self) -> Micros {
        self.0.borrow().now
    }

    async fn wait_until(&self, at: Micros) {
        poll_fn(|_| {
            let mut world = self.0.borrow_mut();
            if world.now >= at {
                return Poll::Ready(());
            }
            world.wake = Some(world.wake.map_or(at, |wake| wake.min(at)));
            Poll::Pending
        })
        .await;
    }
}

/// Every reading takes a little time, so that training takes some.
pub(crate) struct VirtualCycles(Shared);

impl CycleCounter for VirtualCycles {
    fn read(&self) -> u32 {
        let mut world = self.0.borrow_mut();
        world.now = world.now.saturating_add(Micros(STEP_MICROS));
        (world.now.0 * u64::from(world.clock_hz) / 1_000_000) as u32
    }

    fn between(&self, start: u32, end: u32) -> Cycles {
        Cycles(u64::from(end.wrapping_sub(start)))
    }
}

pub(crate) struct Watched(Shared);

impl Watchdog for Watched {
    fn feed(&mut self) {
        let mut world = self.0.borrow_mut();
        world.fed = world.now;
    }
}

pub(crate) struct Dark;

impl StatusLed for Dark {
    fn set(&mut self, _lit: bool) {}
}

/// Clocks that can be set, the first at the start.
pub const CLOCKS: [u32; 3] = [125_000_000, 62_500_000, 31_250_000];

/// A clock by which cycles are counted.
pub(crate) struct VirtualGauge(Shared);

impl VirtualGauge {
    fn start(world: &Shared) -> Self {
        world.borrow_mut().clock_hz = CLOCKS[0];
        Self(world.clone())
    }
}

impl Gauge for VirtualGauge {
    fn clock_hz(&self) -> u32 {
        self.0.borrow().clock_hz
    }

    fn set_clock(&mut self, hz: u32) -> bool {
        let known = CLOCKS.contains(&hz);
        if known {
            self.0.borrow_mut().clock_hz = hz;
        }
        known
    }

    fn end(&mut self) {
        self.0.borrow_mut().clock_hz = CLOCKS[0];
    }

    fn millivolts(&mut self) -> Option<u16> {
        Some(3_300)
    }
}

pub(crate) struct Kept(Shared);

impl Retained<RECORD_BYTES> for Kept {
    fn read(&self) -> [u8; RECORD_BYTES] {
        self.0.borrow().retained.unwrap_or([0xA5; RECORD_BYTES])
    }

    fn write(&mut self, bytes: &[u8; RECORD_BYTES]) {
        self.0.borrow_mut().retained = Some(*bytes);
    }
}

pub(crate) struct LastWords(Shared);

impl Retained<CRASH_BYTES> for LastWords {
    fn read(&self) -> [u8; CRASH_BYTES] {
        self.0.borrow().crash.unwrap_or([0xA5; CRASH_BYTES])
    }

    fn write(&mut self, bytes: &[u8; CRASH_BYTES]) {
        self.0.borrow_mut().crash = Some(*bytes);
    }
}
