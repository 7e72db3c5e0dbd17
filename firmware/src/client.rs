//! The client's state machine: what the base station says goes in, answers and work come out;
//! no waiting inside.

mod measuring;
mod orders;
mod question;
mod transfers;

pub use orders::upload_width;
pub use question::Question;

use gleaner_shared::energy::Pace;
use gleaner_shared::mlp::Samples;
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
use crate::model::{Memory, Params};
use crate::platform::{Platform, StackUse};
use crate::saved::{Region, Saved, SavedState};

/// Answers waiting for room in the link's queue; the base station has one question open, and the
/// longest answer has four parts.
const ANSWERS: usize = 5;

/// Cycles that coding a weight takes, before it was measured.
const CYCLES_PER_WEIGHT: u64 = 100;

/// What the runner is to do besides keeping the link going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Nothing.
    Wait,
    /// Train as ordered.
    Train(Order),
    /// Answer a question about a sample.
    Answer(Question),
    /// Take a step of a measurement, by its number.
    Measure(u32, MeasureStep),
    /// Restart the board.
    Reboot,
    /// Restart it as the drive of its boot loader.
    BecomeDrive,
}

/// Where in a round the client stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// Bytes of an echo on their way back.
    Echoing {
        length: usize,
        offered: bool,
    },
    Training(Order),
    /// An update, coded in the error rows, until the round is closed.
    Uploading {
        report: Report,
        length: usize,
        reported: bool,
        offered: bool,
    },
}

/// The order that is carried out.
#[derive(Clone, Copy, Debug)]
struct Job {
    work: WorkMark,
    /// What was set aside for it.
    reserved: PicoJoules,
    /// Whether it was given in this session. Nothing is said of work whose order was not: its run
    /// may be over, and only the base station knows.
    confirmed: bool,
}

/// A federated client.
pub struct Client<'a, P: Platform> {
    flashed: Flashed<'a>,
    store: ClientLedger<P::Retained>,
    keys: KeyStore<P::Flash>,
    crashes: CrashLog<P::Crashes>,
    /// The session in which the last crash was told, by the link's count; it is forgotten once
    /// that has arrived.
    crash_told_in: Option<u32>,
    /// Whether anyone with the shard can recompute an update.
    exact: bool,
    /// What survives a power cut; `None` where the program cannot write flash.
    saved: Option<Saved<P::Flash>>,
    number: Option<u32>,
    /// The run this session's base station serves, once it said who it takes the client for.
    run: Option<RunId>,
    job: Option<Job>,
    /// What the global parameters are, if anything.
    model: Option<ModelHash>,
    phase: Phase,
    /// What is to be answered of a sample.
    question: Option<Question>,
    /// The step of a measurement that is to be taken.
    step: Option<(u32, MeasureStep)>,
    /// Whether a transfer is coming.
    receiving: bool,
    /// The supply's voltage, when it was last looked at.
    millivolts: Option<u16>,
    /// What it expects of itself: as measured, once it was.
    pace: Pace,
    answers: Deque<DeviceToHost, ANSWERS>,
    reboot: bool,
    /// Whether to restart as a drive.
    drive: bool,
}

impl<'a, P: Platform> Client<'a, P> {
    /// Makes a client of what is in flash and what survived the reset.
    pub fn new(
        flashed: Flashed<'a>,
        retained: P::Retained,
        key_slots: Option<Slots<P::Flash>>,
        state: Option<Region<P::Flash>>,
        crashes: CrashLog<P::Crashes>,
    ) -> Self {
        let saved = state.map(Saved::open);
        let kept = saved
            .as_ref()
            .map_or_else(SavedState::default, |it| *it.kept());
        let samples = flashed.data.map_or(0, |data| data.len() as u64);
        Self {
            flashed,
            store: ClientLedger::new(retained, &kept),
            keys: KeyStore::open(key_slots, flashed.key),
            crashes,
            crash_told_in: None,
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
            pace: Pace {
                epoch: Cycles(samples * u64::from(P::CYCLES_PER_SAMPLE)),
                apply: Cycles::ZERO,
                encode: Cycles(CYCLES_PER_WEIGHT * Params::COUNT as u64),
            },
            answers: Deque::new(),
            reboot: false,
            drive: false,
        }
    }

    /// Says that the client trains on more than its shard, so that nobody can recompute its updates.
    pub const fn learns_more(&mut self) {
        self.exact = false;
    }

    /// Takes the global model from flash, if a whole one is there.
    pub fn recall(&mut self, memory: &mut Memory) {
        self.model = self.saved.as_mut().and_then(|saved| saved.recall(memory));
    }

    /// Tells whether a small step of writing to flash is due: never while energy is reserved for
    /// an order.
    #[must_use]
    pub fn is_saving(&self) -> bool {
        let saving = self.saved.as_ref().is_some_and(Saved::is_saving);
        saving && self.job.is_none() && self.phase == Phase::Idle
    }

    /// Takes that step.
    pub fn save(&mut self, memory: &Memory) {
        if let Some(saved) = self.saved.as_mut() {
            saved.go_on(&memory.global);
        }
    }

    /// Returns the energy store.
    pub fn store(&mut self) -> &mut ClientLedger<P::Retained> {
        &mut self.store
    }

    /// Returns the keys to serve.
    #[must_use]
    pub const fn keys(&self) -> DeviceKeys {
        self.keys.held()
    }

    /// Returns the local samples, if there are any to train on.
    #[must_use]
    pub const fn data(&self) -> Option<LocalData<'a>> {
        self.flashed.data
    }

    /// Returns the number the base station gave, or the shard's.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number.or(self.flashed.client()).unwrap_or_default()
    }

    /// Returns what there is to do.
    #[must_use]
    pub const fn work(&self) -> Work {
        match self.phase {
            _ if self.reboot => Work::Reboot,
            // Before training, which takes the memory that samples are received into.
            _ if let Some(question) = self.question => Work::Answer(question),
            _ if self.drive => Work::BecomeDrive,
            _ if let Some((number, step)) = self.step => Work::Measure(number, step),
            Phase::Training(order) => Work::Train(order),
            _ => Work::Wait,
        }
    }

    /// Returns the bytes on offer.
    pub fn source<'m>(&self, memory: &'m mut Memory) -> &'m [u8] {
        match self.phase {
            Phase::Echoing { length, .. } => &memory.local.bytes()[..length],
            Phase::Uploading { length, .. } => &memory.rows.bytes()[..length],
            Phase::Idle | Phase::Training(_) => &[],
        }
    }

    /// Takes what happened on the link. While training, `memory` is elsewhere.
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
            // The link connects again by itself, and training goes on meanwhile.
            Event::Lost(_) | Event::Refused(_) => warning!("session lost or refused"),
            Event::Nacked(_)
            | Event::Pong { .. }
            | Event::ChunkReceived { .. }
            | Event::Corrupt(_) => {}
        }
    }

    /// Hands the link what waits for it.
    pub fn flush(&mut self, now: Micros, link: &mut DeviceLink, memory: Option<&mut Memory>) {
        while let Some(answer) = self.answers.front() {
            if link.send(answer.clone()).is_err() {
                return;
            }
            if matches!(answer, DeviceToHost::Crash(_)) {
                self.crash_told_in = Some(link.counters().sessions);
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
        self.crash_told_in = None;
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
        if let Some(crash) = self.crashes.untold().cloned() {
            self.answer(DeviceToHost::Crash(crash));
        }
        if let Some(model) = self.model {
            self.answer(DeviceToHost::Holds { model });
        }
        self.tell_flash_use();
    }

    /// Forgets the last crash once everything that was said in its session has arrived.
    fn forget_crash(&mut self, link: &DeviceLink) {
        let told_in = self.crash_told_in;
        if told_in.is_some() && told_in == Some(link.counters().sessions) && link.is_idle() {
            // A session that was lost has an idle queue, too.
            if link.is_connected() {
                self.crashes.told();
            }
            self.crash_told_in = None;
        }
    }

    /// Tells how often the flash was written, where it can be.
    fn tell_flash_use(&mut self) {
        if let Some(saved) = &self.saved {
            let (erases, programs) = saved.operations();
            let closed = saved.kept().closed;
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
        // An update without its work has no bytes any more: the link would wait for them.
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
            // Not of the run it was provisioned for.
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

    /// As a drive the board takes any program, and it is gone until somebody writes one: only
    /// whoever holds its key may send it there.
    fn may_become_drive(&self) -> Result<(), BootselRefusal> {
        match (P::has_boot_drive(), self.keys().is_secret()) {
            (false, _) => Err(BootselRefusal::NoDrive),
            (true, false) => Err(BootselRefusal::NoKey),
            (true, true) => Ok(()),
        }
    }

    fn answer(&mut self, message: DeviceToHost) {
        // The base station has one question open at a time, so there is room; a question that
        // goes unanswered is asked again.
        let _ = self.answers.push_back(message);
    }
}
