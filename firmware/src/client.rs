//! The client's state machine: messages go in, answers and work come out; it never waits.

mod measuring;
mod orders;
mod question;
mod transfers;

pub use orders::has_room;
pub use question::Question;

use gleaner_shared::units::{Cycles, Micros, PicoJoules};
use gleaner_shared::wire::link::{DeviceEnd, DeviceLink, Event};
use gleaner_shared::wire::message::{
    BootselRefusal, DeviceToHost, HostToDevice, MeasureStep, ModelHash, Order, Payload, Report,
    RunId, Supply, WorkMark,
};
use gleaner_shared::wire::{DeviceKeys, Generation};
use heapless::Deque;

use crate::client_ledger::ClientLedger;
use crate::crash::CrashLog;
use crate::data::{Flashed, LocalData};
use crate::fmt::{info, warning};
use crate::identity;
use crate::keys::{KeyStore, Slots};
use crate::model::Memory;
use crate::platform::{Platform, StackUse};
use crate::saved::{Region, Saved, SavedState};

/// Length of the queue of answers: the base station has one question open, and the longest answer
/// has four parts.
const ANSWERS: usize = 5;

/// The next task of the runner, besides serving the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Work {
    /// Wait for the link.
    Wait,
    /// Carry out an order.
    Train(Order),
    /// Answer a question about a sample.
    Answer(Question),
    /// Carry out a step of a measurement, by its number.
    Measure(u32, MeasureStep),
    Reboot,
    /// Restart the board as the drive of its boot loader.
    BecomeDrive,
}

/// The client's state within a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// Sending an echo back.
    Echoing {
        length: usize,
        offered: bool,
    },
    Training(Order),
    /// Uploading an update, coded in the error rows, until the round is closed.
    Uploading {
        report: Report,
        length: usize,
        reported: bool,
        offered: bool,
    },
}

/// The order in progress.
#[derive(Clone, Copy, Debug)]
struct Job {
    work: WorkMark,
    /// Energy reserved for it.
    reserved: PicoJoules,
    /// Whether the order was given in this session. Work of an earlier session is not reported: its
    /// run may have ended, which only the base station knows.
    confirmed: bool,
}

/// A federated client.
pub struct Client<'a, P: Platform> {
    flashed: Flashed<'a>,
    store: ClientLedger<P::Retained>,
    keys: KeyStore<P::Flash>,
    crashes: CrashLog<P::Crashes>,
    /// The session, by the link's count, in which the last crash was reported; it is deleted once
    /// the report has arrived.
    crash_sent_in: Option<u32>,
    /// Whether updates can be recomputed from the shard.
    exact: bool,
    /// State that survives a power cut; `None` if the program cannot write flash.
    saved: Option<Saved<P::Flash>>,
    number: Option<u32>,
    /// The run that the base station of this session serves, once it has provisioned the client.
    run: Option<RunId>,
    job: Option<Job>,
    /// Hash of the global model, if the board holds one.
    model: Option<ModelHash>,
    phase: Phase,
    /// The open question about a sample.
    question: Option<Question>,
    /// The open step of a measurement.
    step: Option<(u32, MeasureStep)>,
    /// Whether a transfer is being received.
    receiving: bool,
    /// The supply's voltage, as last measured.
    millivolts: Option<u16>,
    /// Cycles of receiving models that no order has paid for yet.
    unpaid_apply: Cycles,
    answers: Deque<DeviceToHost, ANSWERS>,
    reboot: bool,
    /// Whether to restart as a drive.
    drive: bool,
}

impl<'a, P: Platform> Client<'a, P> {
    /// Creates the client from flash and from the state that survived the reset.
    pub fn new(
        flashed: Flashed<'a>,
        retained: P::Retained,
        key_slots: Option<Slots<P::Flash>>,
        state: Option<Region<P::Flash>>,
        crashes: CrashLog<P::Crashes>,
    ) -> Self {
        let saved = state.map(Saved::open);
        let found = saved
            .as_ref()
            .map_or_else(SavedState::default, |it| *it.state());
        Self {
            flashed,
            store: ClientLedger::new(retained, &found),
            keys: KeyStore::open(key_slots, flashed.key),
            crashes,
            crash_sent_in: None,
            exact: true,
            saved,
            number: None,
            run: None,
            job: None,
            model: None,
            phase: Phase::Idle,
            question: None,
            step: None,
            receiving: false,
            millivolts: None,
            unpaid_apply: Cycles::ZERO,
            answers: Deque::new(),
            reboot: false,
            drive: false,
        }
    }

    /// Declares that the client trains on more than its shard, so that updates cannot be
    /// recomputed.
    pub const fn learns_more(&mut self) {
        self.exact = false;
    }

    /// Reads the global model from flash, if a complete one is there.
    pub fn recall(&mut self, memory: &mut Memory) {
        self.model = self.saved.as_mut().and_then(|saved| saved.recall(memory));
    }

    /// Returns whether a step of writing to flash is due: never while energy is reserved for an
    /// order.
    pub fn is_saving(&self) -> bool {
        let saving = self.saved.as_ref().is_some_and(Saved::is_saving);
        saving && self.job.is_none() && self.phase == Phase::Idle
    }

    /// Carries out one step of writing to flash.
    pub fn save(&mut self, memory: &Memory) {
        if let Some(saved) = self.saved.as_mut() {
            saved.go_on(&memory.global);
        }
    }

    /// Returns the client's ledger.
    pub fn store(&mut self) -> &mut ClientLedger<P::Retained> {
        &mut self.store
    }

    /// Returns the keys that the link uses.
    pub const fn keys(&self) -> DeviceKeys {
        self.keys.held()
    }

    /// Returns the local samples, if there are any to train on.
    pub const fn data(&self) -> Option<LocalData<'a>> {
        self.flashed.data
    }

    /// Returns the client number that the base station gave, or the shard's.
    pub fn number(&self) -> u32 {
        self.number.or(self.flashed.client()).unwrap_or_default()
    }

    /// Returns the next task.
    pub const fn work(&self) -> Work {
        match self.phase {
            _ if self.reboot => Work::Reboot,
            // Before training, which uses the memory that samples are received into.
            _ if let Some(question) = self.question => Work::Answer(question),
            _ if self.drive => Work::BecomeDrive,
            _ if let Some((number, step)) = self.step => Work::Measure(number, step),
            Phase::Training(order) => Work::Train(order),
            _ => Work::Wait,
        }
    }

    /// Returns the bytes that are being sent.
    pub fn source<'m>(&self, memory: &'m mut Memory) -> &'m [u8] {
        match self.phase {
            Phase::Echoing { length, .. } => &memory.local.bytes()[..length],
            Phase::Uploading { length, .. } => &memory.rows.bytes()[..length],
            Phase::Idle | Phase::Training(_) => &[],
        }
    }

    /// Handles an event of the link. During training `memory` is `None`.
    pub fn handle(
        &mut self,
        link: &mut DeviceLink,
        event: Event<DeviceEnd>,
        memory: Option<&mut Memory>,
    ) {
        match event {
            Event::Connected(()) => {
                info!("connected");
                if let Some(generation) = link.generation() {
                    self.keys.confirm(generation);
                    link.set_keys(self.keys.held());
                }
                self.start_session();
            }
            Event::Message(message) => self.hear(link, &message),
            Event::Offered(offer) => self.answer_offer(link, &offer, memory),
            Event::Received(offer) => {
                self.receiving = false;
                if let Some(memory) = memory {
                    self.receive(&offer, memory);
                }
            }
            Event::Delivered(_) => {
                info!("delivered");
                if matches!(self.phase, Phase::Echoing { .. }) {
                    self.phase = Phase::Idle;
                }
            }
            Event::Rejected(..) => match self.phase {
                Phase::Echoing { .. } => self.phase = Phase::Idle,
                _ => self.drop_work(),
            },
            Event::TransferTimedOut(_) => self.offer_again(),
            // The link reconnects by itself, and training continues meanwhile.
            Event::Lost(_) | Event::Refused(_) => warning!("session lost or refused"),
            Event::Nacked(_)
            | Event::Pong { .. }
            | Event::ChunkReceived { .. }
            | Event::Corrupt(_) => {}
        }
    }

    /// Passes queued answers, reports and transfers to the link.
    pub fn flush(&mut self, now: Micros, link: &mut DeviceLink, memory: Option<&mut Memory>) {
        while let Some(answer) = self.answers.front() {
            if link.send(answer.clone()).is_err() {
                return;
            }
            if matches!(answer, DeviceToHost::Crash(_)) {
                self.crash_sent_in = Some(link.counters().sessions);
            }
            self.answers.pop_front();
        }
        self.forget_crash(link);
        let Some(memory) = memory else { return };
        let confirmed = self.job.is_some_and(|job| job.confirmed);
        match &mut self.phase {
            Phase::Uploading {
                report,
                length,
                reported,
                offered,
            } if confirmed => {
                if !*reported {
                    *reported = link.send(DeviceToHost::Report(*report)).is_ok();
                }
                if *reported && !*offered && *length > 0 {
                    let source = &memory.rows.bytes()[..*length];
                    let offer = link.offer(now, Payload::Update, Some(report.work), source);
                    *offered = offer.is_ok();
                }
            }
            Phase::Echoing { length, offered } if !*offered => {
                let source = &memory.local.bytes()[..*length];
                *offered = link.offer(now, Payload::Echo, None, source).is_ok();
            }
            _ => {}
        }
    }

    fn start_session(&mut self) {
        self.answers.clear();
        self.question = None;
        self.step = None;
        self.receiving = false;
        self.crash_sent_in = None;
        self.run = None;
        if let Some(job) = &mut self.job {
            job.confirmed = false;
        }
        self.offer_again();
        if let Phase::Uploading { reported, .. } = &mut self.phase {
            *reported = false;
        }
        if matches!(self.phase, Phase::Echoing { .. }) {
            self.phase = Phase::Idle;
        }
        let about = identity::about(
            P::NAME,
            self.flashed.status,
            self.exact,
            self.store.snapshot(),
            self.store.last_round(),
        );
        self.answer(DeviceToHost::About(about));
        if let Some(crash) = self.crashes.unreported().cloned() {
            self.answer(DeviceToHost::Crash(crash));
        }
        if let Some(model) = self.model {
            self.answer(DeviceToHost::Holds { model });
        }
        self.tell_flash_use();
    }

    /// Deletes the last crash report once every message of its session has arrived.
    fn forget_crash(&mut self, link: &DeviceLink) {
        let sent_in = self.crash_sent_in;
        if sent_in.is_some() && sent_in == Some(link.counters().sessions) && link.is_idle() {
            // A lost session has an idle queue, too.
            if link.is_connected() {
                self.crashes.mark_reported();
            }
            self.crash_sent_in = None;
        }
    }

    /// Reports how often the flash was written, if it can be.
    fn tell_flash_use(&mut self) {
        if let Some(saved) = &self.saved {
            let (erases, programs) = saved.operations();
            let closed = saved.state().closed;
            self.answer(DeviceToHost::FlashUse {
                erases,
                programs,
                closed,
            });
        }
    }

    fn offer_again(&mut self) {
        if let Phase::Uploading { offered, .. } | Phase::Echoing { offered, .. } = &mut self.phase {
            *offered = false;
        }
    }

    fn hear(&mut self, link: &mut DeviceLink, message: &HostToDevice) {
        let work = self.work_mark();
        self.obey(link, message);
        // The link must not wait for the bytes of an update that was dropped.
        if work.is_some() && self.work_mark() != work {
            link.withdraw();
        }
    }

    fn obey(&mut self, link: &mut DeviceLink, message: &HostToDevice) {
        match message {
            HostToDevice::Provision(provision) => self.provision(provision),
            HostToDevice::Order(order) => {
                let reply = self.take_order(order);
                self.answer(DeviceToHost::OrderReply(reply));
            }
            HostToDevice::Cancel { work } => self.cancel(*work),
            HostToDevice::Commit { mark, .. } if Some(mark.run) == self.run => {
                self.commit(*mark);
            }
            // Of another run than the client was provisioned for.
            HostToDevice::Commit { .. } => {}
            HostToDevice::Inspect => {
                let counters = link.counters();
                self.answer(DeviceToHost::Counters(counters));
                let StackUse {
                    available_bytes,
                    used_bytes,
                } = P::stack_use();
                self.answer(DeviceToHost::Stack {
                    available_bytes,
                    used_bytes,
                });
                self.tell_flash_use();
                self.answer(DeviceToHost::Supply(Supply {
                    millivolts: self.millivolts,
                    brownouts: self.store.brownouts(),
                }));
            }
            HostToDevice::Reboot => self.reboot = true,
            HostToDevice::Bootsel => match self.may_become_drive() {
                Ok(()) => self.drive = true,
                Err(reason) => self.answer(DeviceToHost::BootselRefused(reason)),
            },
            HostToDevice::Rekey { generation, key } => {
                let (number, key) = (*generation, *key);
                let session = link.generation().unwrap_or_default();
                let taken = self.keys.rekey(session, Generation { number, key });
                link.set_keys(self.keys.held());
                self.answer(match taken {
                    Ok(()) => DeviceToHost::Rekeyed { generation: number },
                    Err(reason) => DeviceToHost::RekeyRefused(reason),
                });
            }
            HostToDevice::Infer { .. } | HostToDevice::Label { .. } => self.ask(message),
            HostToDevice::Measure { number, step } => self.take_step(*number, *step),
            // The link handles these.
            HostToDevice::Link(_)
            | HostToDevice::Connect(_)
            | HostToDevice::Welcome { .. }
            | HostToDevice::Refuse(_) => {}
        }
    }

    /// Checks that the board may restart as a drive. A drive accepts any program, so only a base
    /// station that holds the board's key may request it.
    fn may_become_drive(&self) -> Result<(), BootselRefusal> {
        match (P::has_boot_drive(), self.keys().is_secret()) {
            (false, _) => Err(BootselRefusal::NoDrive),
            (true, false) => Err(BootselRefusal::NoKey),
            (true, true) => Ok(()),
        }
    }

    fn answer(&mut self, message: DeviceToHost) {
        // The base station has one question open at a time, so there is room; an unanswered
        // question is repeated.
        let _ = self.answers.push_back(message);
    }
}
