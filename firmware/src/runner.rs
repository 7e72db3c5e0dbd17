//! The loop around the client: receives bytes, sends frames, carries out work.

use core::mem::MaybeUninit;

use core::task::Poll;

use embassy_futures::poll_once;
use embassy_futures::select::{Either, select};
use embedded_io_async::{Read, Write};
use gleaner_shared::energy::Phase;
use gleaner_shared::mlp::Helper;
use gleaner_shared::units::Micros;
use gleaner_shared::wire::FrameBuffer;
use gleaner_shared::wire::link::{DeviceLink, Event, Timing};
use gleaner_shared::wire::message::{DeviceToHost, Payload};

use crate::app::App;
use crate::board::BAUD;
use crate::client::{Client, Work};
use crate::crash::CrashLog;
use crate::data::Flashed;
use crate::fmt::info;
use crate::identity;
use crate::marks::Marks;
use crate::model::{HIDDEN, Memory, OUTPUTS};
use crate::platform::{Board, Clock, CycleCounter, Gauge, Platform, StatusLed, Watchdog};

/// The longest pause of an idle loop, well within the watchdog's limit.
const IDLE: Micros = Micros(500_000);

/// A line without bytes for this long is quiet: a started frame has ended or is lost. Flash is only
/// written then, because writing may stop the board from receiving.
const QUIET: Micros = Micros(2_000);

/// Size of the input buffer.
const INPUT_BYTES: usize = 256;

/// The parts of a board that the loop uses.
pub(crate) struct Parts<P: Platform> {
    rx: P::Rx,
    tx: P::Tx,
    pub(crate) clock: P::Clock,
    pub(crate) cycles: P::Cycles,
    pub(crate) watchdog: P::Watchdog,
    /// `None` while it trains.
    pub(crate) helper: Option<Helper<'static, P::Partner, HIDDEN, OUTPUTS>>,
    pub(crate) led: P::StatusLed,
    pub(crate) gauge: P::Gauge,
}

/// Creates a value in its own stack frame and writes it into `slot`.
///
/// # Safety
/// `slot` must be valid for writing.
#[inline(never)]
unsafe fn write<T>(slot: *mut T, make: impl FnOnce() -> T) {
    // SAFETY: as required of the caller.
    unsafe { slot.write(make()) }
}

/// A client with the parts of its board.
pub struct Runner<P: Platform> {
    pub(crate) parts: Parts<P>,
    pub(crate) client: Client<'static, P>,
    pub(crate) link: DeviceLink,
    frame: FrameBuffer,
    input: [u8; INPUT_BYTES],
    /// Time of the last received bytes.
    heard: Micros,
    pub(crate) marks: Marks,
}

impl<P: Platform> Runner<P> {
    /// Creates the client field by field in its final place: a runner takes 10 KB, and a stack of a
    /// few KB would have to hold every copy of it.
    pub fn place(place: &mut MaybeUninit<Self>, board: Board<P>) -> &mut Self {
        info!("{} on {}", identity::BUILD, P::NAME);
        let runner = place.as_mut_ptr();
        // SAFETY: `place` is borrowed exclusively and has room for every field; each is written once
        // before the whole is taken as initialised, and none is read before it was written.
        unsafe {
            write(&raw mut (*runner).client, || {
                Client::new(
                    Flashed::read(board.shard),
                    board.retained,
                    board.key_slots,
                    board.state,
                    CrashLog::open(board.crashes, board.reset),
                )
            });
            let client = &mut (*runner).client;
            let boots = client.store().boots();
            let entropy = identity::entropy(board.entropy.as_ref(), &board.device, boots);
            write(&raw mut (*runner).link, || {
                let timing = Timing::for_bit_rate(BAUD);
                DeviceLink::new(client.keys(), entropy, board.device, timing)
            });
            write(&raw mut (*runner).parts, || Parts {
                rx: board.rx,
                tx: board.tx,
                clock: board.clock,
                cycles: board.cycles,
                watchdog: board.watchdog,
                helper: board.helper,
                led: board.led,
                gauge: board.gauge,
            });
            write(&raw mut (*runner).frame, FrameBuffer::new);
            write(&raw mut (*runner).input, || [0; INPUT_BYTES]);
            write(&raw mut (*runner).heard, || Micros::ZERO);
            write(&raw mut (*runner).marks, Marks::new);
            place.assume_init_mut()
        }
    }

    /// Runs the client and an application forever; [`NoApp`](crate::app::NoApp) is none.
    pub async fn run<A: App>(&mut self, memory: &mut Memory, app: &mut A) -> ! {
        if A::LEARNS {
            self.client.learns_more();
        }
        let mut due = Some(Micros::ZERO);
        self.client.recall(memory);
        self.client.supplied(self.parts.gauge.millivolts());
        loop {
            match self.client.work() {
                Work::Wait => {
                    due = self.tick(due, memory, app);
                    self.wait(memory, due).await;
                }
                Work::Answer(question) => self.answer(question, memory, app),
                Work::Measure(number, step) => self.measure(number, step, memory, app).await,
                Work::Train(order) => {
                    self.parts.led.set(self.marks.phase().is_none());
                    self.train(&order, memory, app).await;
                    self.client.supplied(self.parts.gauge.millivolts());
                    self.parts.led.set(false);
                }
                Work::Reboot => P::reset(),
                Work::BecomeDrive => P::become_drive(),
            }
        }
    }

    /// Sends what is due, then sleeps until bytes arrive or a timer expires; `app` is when the
    /// application is due.
    async fn wait(&mut self, memory: &mut Memory, app: Option<Micros>) {
        self.parts.watchdog.feed();
        if self.send_one(Some(memory)).await {
            self.take_pending(Some(memory)).await;
            return;
        }
        let now = self.parts.clock.now();
        let idle = match self.client.is_saving() {
            true if now >= self.heard.saturating_add(QUIET) => return self.save(memory).await,
            true => self.heard.saturating_add(QUIET),
            false => now.saturating_add(IDLE),
        };
        let wakes = [self.link.next_wake(), app];
        let wake = wakes.into_iter().flatten().fold(idle, Micros::min);
        let Parts { rx, clock, .. } = &mut self.parts;
        match select(rx.read(&mut self.input), clock.wait_until(wake)).await {
            Either::First(Ok(count)) => self.take(count, Some(memory)),
            // A line error damages at most a frame, which its checksum detects.
            Either::First(Err(_)) => {}
            Either::Second(()) => {}
        }
        self.take_time(Some(memory));
    }

    /// Begins a phase of a measured board.
    pub(crate) fn enter(&mut self, phase: Phase) {
        if self.marks.phase().is_some() {
            self.parts.gauge.show(phase);
            let (now, hz) = (self.parts.clock.now(), self.parts.gauge.clock_hz());
            self.marks.enter(phase, now, hz);
        }
    }

    /// Shows the phase of the line while there is no other work.
    fn follow_line(&mut self) {
        let line = self.client.line_phase();
        let phase = line.unwrap_or_else(|| self.parts.gauge.waits_in());
        if self.marks.phase().is_some_and(|shown| shown != phase) {
            self.enter(phase);
        }
    }

    /// Carries out a step of writing to flash, unless bytes arrive first.
    async fn save(&mut self, memory: &mut Memory) {
        self.take_pending(Some(memory)).await;
        self.take_time(Some(memory));
        let now = self.parts.clock.now();
        if self.client.is_saving() && now >= self.heard.saturating_add(QUIET) {
            self.client.save(memory);
        }
        // Runs the other tasks of the board, such as USB.
        embassy_futures::yield_now().await;
    }

    /// Serves the link between two steps of work that holds the memory.
    pub(crate) async fn attend(&mut self) {
        self.parts.watchdog.feed();
        self.take_pending(None).await;
        self.take_time(None);
        while self.send_one(None).await {}
        // Runs the other tasks of the board, such as USB.
        embassy_futures::yield_now().await;
    }

    /// Takes bytes that have already arrived.
    async fn take_pending(&mut self, mut memory: Option<&mut Memory>) {
        while let Poll::Ready(Ok(count)) = poll_once(self.parts.rx.read(&mut self.input)) {
            self.take(count, memory.as_deref_mut());
        }
    }

    fn take(&mut self, count: usize, mut memory: Option<&mut Memory>) {
        let now = self.parts.clock.now();
        let frames = self.link.whole_frames();
        self.heard = now;
        self.marks.passed(count);
        let mut bytes = &self.input[..count];
        while !bytes.is_empty() {
            let store = match memory.as_deref_mut() {
                Some(memory) => memory.local.bytes(),
                None => &mut [],
            };
            let start = self.parts.cycles.read();
            let event = self.link.receive(now, &mut bytes, store);
            self.marks
                .framed(self.parts.cycles.between(start, self.parts.cycles.read()));
            if let Some(event) = event {
                let whole = match &event {
                    Event::Received(offer) if offer.payload.is_model() => {
                        offer.payload == Payload::Model
                    }
                    _ => {
                        self.client
                            .handle(&mut self.link, event, memory.as_deref_mut());
                        continue;
                    }
                };
                if self.marks.phase().is_some() {
                    self.parts.gauge.show(Phase::Apply);
                    let (now, hz) = (self.parts.clock.now(), self.parts.gauge.clock_hz());
                    self.marks.enter(Phase::Apply, now, hz);
                }
                let start = self.parts.cycles.read();
                self.client
                    .handle(&mut self.link, event, memory.as_deref_mut());
                let end = self.parts.cycles.read();
                let cycles = self.parts.cycles.between(start, end);
                self.client.applied(cycles, whole);
                self.marks.worked(cycles, 0);
            }
        }
        if self.link.whole_frames() != frames {
            P::heard_a_frame();
        }
    }

    fn take_time(&mut self, mut memory: Option<&mut Memory>) {
        while let Some(event) = self.link.poll(self.parts.clock.now()) {
            self.client
                .handle(&mut self.link, event, memory.as_deref_mut());
        }
    }

    /// Sends one frame if one is due.
    async fn send_one(&mut self, mut memory: Option<&mut Memory>) -> bool {
        let now = self.parts.clock.now();
        while let Some(mark) = self.marks.front()
            && self.link.send(DeviceToHost::Mark(mark)).is_ok()
        {
            self.marks.pop();
        }
        let start = self.parts.cycles.read();
        self.client
            .flush(now, &mut self.link, memory.as_deref_mut());
        if memory.is_some() {
            self.follow_line();
        }
        let source = match memory {
            Some(memory) => self.client.source(memory),
            None => &[],
        };
        let frame = self.link.transmit(now, source, &mut self.frame);
        self.marks
            .framed(self.parts.cycles.between(start, self.parts.cycles.read()));
        match frame {
            // A frame that cannot be written is lost, as on any line.
            Some(bytes) => {
                self.marks.passed(bytes.len());
                self.parts.tx.write_all(bytes).await.is_ok()
            }
            None => false,
        }
    }
}
