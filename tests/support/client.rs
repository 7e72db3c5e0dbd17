//! A client that speaks the protocol and does not train, for tests of the base station.
//!
//! Its update is a fixed pattern of client and round, so that a test can tell whose it is.

use std::io;
use std::ops::RangeInclusive;
use std::time::Duration;

use gleaner_shared::energy::{Activity, Flows, Ledger, Phase, Shortfall, Snapshot, Spent};
use gleaner_shared::units::{Cycles, Micros, PicoJoules};
use gleaner_shared::wire::link::{DeviceEnd, DeviceLink, Event, Timing};
use gleaner_shared::wire::message::{
    About, DeclineReason, DeviceId, DeviceToHost, HostToDevice, ModelHash, ModelShape, Order,
    OrderReply, Payload, Provision, Report, RoundMark, ShardStatus, WorkMark,
};
use gleaner_shared::wire::{FrameBuffer, Key};
use heapless::String;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep, sleep_until};

use crate::lies::Lie;

/// Interval between two checks of work that is not reported yet.
const TICK: Duration = Duration::from_millis(1);

/// Pause between two bytes of a client that sends them one by one.
const BYTE: Duration = Duration::from_secs(1);

/// Training time of a client that never reports.
const FOREVER: Duration = Duration::from_secs(86_400);

/// Time after which a client browns out in its training.
const BROWN_OUT: Duration = Duration::from_millis(100);

/// Time after which a client declines an order late.
const LATE: Duration = Duration::from_secs(2);

/// How a client that holds its key keeps a base station waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// Hangs up at each order, and connects again.
    HangsUp,
    /// Accepts its order and never reports.
    Idle,
    /// Never answers its order.
    Mute,
    /// Answers with one byte a second.
    Trickle,
    /// Loses its power in the middle of training, and connects again.
    BrownsOut,
    /// Declines its order for lack of energy, long after it was given.
    DeclinesLate,
}

impl Stall {
    /// Every way, in order.
    pub const ALL: [Self; 6] = [
        Self::HangsUp,
        Self::Idle,
        Self::Mute,
        Self::Trickle,
        Self::BrownsOut,
        Self::DeclinesLate,
    ];
}

/// A client and its volatile state.
pub struct Client {
    number: u32,
    /// Chip number; by default that of the client.
    chip: Option<DeviceId>,
    key: Key,
    timing: Timing,
    starts: u8,
    upload_bytes: usize,
    training: Duration,
    model: Option<ModelHash>,
    last_round: Option<RoundMark>,
    provision: Option<Provision>,
    ledger: Snapshot,
    work: Option<Finished>,
    store: Vec<u8>,
    member: Option<Member>,
    /// Whether the last model came whole.
    whole: bool,
    /// The newest round in the ledger.
    booked: Option<u32>,
    stall: Option<(Stall, RangeInclusive<u32>)>,
    /// When it loses its power.
    dies_at: Option<Instant>,
    /// When it declines its order, and how.
    declines: Option<(Instant, OrderReply)>,
    /// Whether it closes this line.
    hangs_up: bool,
    /// How often each order was carried out, by round.
    pub trained: Vec<u32>,
    /// Rounds in which its update was counted.
    pub counted: Vec<u32>,
    /// Rounds of the orders that were cancelled.
    pub cancelled: Vec<u32>,
}

/// What makes a client a board of a whole run: a shard, and books.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Samples of its shard.
    pub samples: u32,
    /// Checksum of its shard.
    pub crc: u32,
    /// How many times the model's costs it books.
    pub factor: u64,
    /// The round in which it goes away for good, after it has accepted its order.
    pub leaves_in: Option<u32>,
    /// Scale of its updates in units of 2^-8, all of whose codes are -127; they change nothing if `None`.
    pub lies: Option<u32>,
    /// What it says of its ledger in place of the truth.
    pub lie: Option<Lie>,
}

struct Finished {
    /// Whether its order was given in this session.
    ordered: bool,
    report: Report,
    update: Vec<u8>,
    reported: bool,
    offered: bool,
    /// When training is over.
    at: Instant,
}

/// Returns the self-description of a client.
#[must_use]
pub fn about_of(client: u32, largest_transfer: u32) -> About {
    About {
        build: String::try_from("test").unwrap_or_default(),
        board: String::try_from("test").unwrap_or_default(),
        shape: ModelShape {
            inputs: 784,
            hidden: 50,
            outputs: 10,
        },
        largest_transfer,
        shard: ShardStatus::Present {
            samples: 1_000,
            client,
            inputs: 784,
            classes: 10,
            crc: 7,
        },
        codes: u8::MAX,
        exact: true,
        ledger: None,
        last_round: None,
    }
}

/// Returns the report of a client after training.
#[must_use]
pub const fn report_of(work: WorkMark, epochs: u16, ledger: Snapshot) -> Report {
    Report {
        work,
        trained: true,
        loss_before_q16: 2 << 16,
        loss_after_q16: 1 << 16,
        samples: 1_000,
        epochs,
        cycles: Cycles(80_000_000),
        elapsed: Micros(640_000),
        spent: Spent::ZERO,
        harvested: PicoJoules::ZERO,
        ledger,
    }
}

/// Returns the update of a client in a round.
#[must_use]
pub fn update_of(client: u32, round: u32, bytes: usize) -> Vec<u8> {
    let seed = client.wrapping_mul(0x9E37_79B9) ^ round.wrapping_mul(0x85EB_CA6B);
    (0..bytes as u32)
        .map(|i| (seed.wrapping_add(i).wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

impl Client {
    /// Makes a client that uploads `upload_bytes`.
    #[must_use]
    pub fn new(number: u32, key: Key, timing: Timing, upload_bytes: usize) -> Self {
        Self {
            number,
            chip: None,
            key,
            timing,
            starts: 0,
            upload_bytes,
            training: Duration::ZERO,
            model: None,
            last_round: None,
            provision: None,
            ledger: Snapshot::default(),
            work: None,
            store: vec![0; 2 * upload_bytes.max(64)],
            member: None,
            whole: true,
            booked: None,
            stall: None,
            dies_at: None,
            declines: None,
            hangs_up: false,
            trained: Vec::new(),
            counted: Vec::new(),
            cancelled: Vec::new(),
        }
    }

    /// Runs the client on another chip, as when two boards are flashed with one shard.
    #[must_use]
    pub const fn on_chip(mut self, chip: DeviceId) -> Self {
        self.chip = Some(chip);
        self
    }

    /// Sets the duration of training.
    #[must_use]
    pub const fn training_for(mut self, training: Duration) -> Self {
        self.training = training;
        self
    }

    /// Makes the client a board of a run, with an update that changes nothing.
    #[must_use]
    pub fn of_run(mut self, member: Member) -> Self {
        self.member = Some(member);
        // The exact model with its biases.
        self.store.resize(3 * self.upload_bytes, 0);
        self
    }

    /// Makes the client keep the base station waiting in some rounds.
    #[must_use]
    pub const fn stalling(mut self, stall: Stall, rounds: RangeInclusive<u32>) -> Self {
        self.stall = Some((stall, rounds));
        self
    }

    /// Returns how the client stalls at an order of this round.
    fn stall_in(&self, round: u32) -> Option<Stall> {
        let (stall, rounds) = self.stall.as_ref()?;
        rounds.contains(&round).then_some(*stall)
    }

    /// Tells whether the client has gone away for good.
    #[must_use]
    pub fn has_left(&self) -> bool {
        let leaves_in = self.member.and_then(|member| member.leaves_in);
        leaves_in.is_some_and(|round| self.trained.contains(&round))
    }

    /// Drops the state that a power cut loses.
    pub fn switch_off(&mut self) {
        self.model = None;
        self.work = None;
        self.provision = None;
    }

    /// Returns the device number, different for every client.
    fn device(&self) -> DeviceId {
        let mut device = DeviceId([0xD0; 12]);
        device.0[..4].copy_from_slice(&self.number.to_le_bytes());
        self.chip.unwrap_or(device)
    }

    fn about(&self) -> About {
        let mut about = about_of(self.number, self.store.len() as u32);
        if let (Some(member), ShardStatus::Present { samples, crc, .. }) =
            (self.member, &mut about.shard)
        {
            (*samples, *crc, about.exact) = (member.samples, member.crc, false);
        }
        About {
            last_round: self.last_round,
            ..about
        }
    }

    /// Serves one line until it closes.
    ///
    /// # Errors
    /// How the line ended, other than by closing.
    pub async fn serve(&mut self, line: impl AsyncRead + AsyncWrite) -> io::Result<()> {
        self.starts = self.starts.wrapping_add(1);
        self.hangs_up = false;
        self.declines = None;
        let entropy = [self.starts ^ self.number as u8; 32];
        let mut link = DeviceLink::new(self.key, Some(entropy), self.device(), self.timing);
        let (mut read, mut write) = tokio::io::split(line);
        let (epoch, mut frame) = (Instant::now(), FrameBuffer::new());
        let now = || Micros(epoch.elapsed().as_micros() as u64);
        let mut piece = [0; 1024];
        loop {
            while let Some(event) = link.poll(now()) {
                self.handle(&mut link, event);
            }
            let due = |(at, _): &mut (Instant, OrderReply)| *at <= Instant::now();
            if let Some((_, reply)) = self.declines.take_if(due) {
                let _ = link.send(DeviceToHost::OrderReply(reply));
            }
            loop {
                self.flush(&mut link, now());
                let source = self.work.as_ref().map_or(&[][..], |work| &work.update);
                let trickles = self.work.as_ref().is_some_and(|work| {
                    self.stall_in(work.report.work.round) == Some(Stall::Trickle)
                });
                match link.transmit(now(), source, &mut frame) {
                    Some(bytes) if trickles => {
                        for byte in bytes {
                            write.write_all(&[*byte]).await?;
                            sleep(BYTE).await;
                        }
                    }
                    Some(bytes) => write.write_all(bytes).await?,
                    None => break,
                }
            }
            if self.dies_at.is_some_and(|at| at <= Instant::now()) {
                self.dies_at = None;
                self.switch_off();
                return Ok(());
            }
            let wake = link.next_wake().unwrap_or(Micros(u64::from(u32::MAX)));
            let mut wake = epoch + Duration::from_micros(wake.0);
            if let Some(work) = self.work.as_ref().filter(|work| !work.reported) {
                // Work of an order that is not of this session is done, and waits for it.
                wake = wake.min(work.at.max(Instant::now() + TICK));
            }
            let declines_at = self.declines.as_ref().map(|(at, _)| *at);
            for at in [self.dies_at, declines_at].into_iter().flatten() {
                wake = wake.min(at);
            }
            let len = tokio::select! {
                len = read.read(&mut piece) => len?,
                () = sleep_until(wake) => continue,
            };
            if len == 0 {
                return Ok(());
            }
            let mut bytes = &piece[..len];
            while !bytes.is_empty() {
                if let Some(event) = link.receive(now(), &mut bytes, &mut self.store) {
                    self.handle(&mut link, event);
                }
                if self.has_left() || self.hangs_up {
                    return Ok(());
                }
            }
        }
    }

    fn flush(&mut self, link: &mut DeviceLink, now: Micros) {
        let due = |work: &&mut Finished| work.ordered && work.at <= Instant::now();
        let Some(work) = self.work.as_mut().filter(due) else {
            return;
        };
        if !work.reported {
            work.reported = link.send(DeviceToHost::Report(work.report)).is_ok();
        } else if !work.offered {
            let mark = Some(work.report.work);
            work.offered = link.offer(now, Payload::Update, mark, &work.update).is_ok();
        }
    }

    fn handle(&mut self, link: &mut DeviceLink, event: Event<DeviceEnd>) {
        match event {
            Event::Connected(()) => {
                self.provision = None;
                if let Some(work) = &mut self.work {
                    (work.ordered, work.reported, work.offered) = (false, false, false);
                }
                let _ = link.send(DeviceToHost::About(self.about()));
            }
            Event::Offered(_) => drop(link.accept(&self.store)),
            // The tests' updates stand for the models they lead to.
            Event::Received(offer) => {
                self.whole = offer.payload == Payload::Model;
                self.model = Some(offer.hash);
            }
            Event::Rejected(..) => self.work = None,
            Event::TransferTimedOut(_) => {
                if let Some(work) = &mut self.work {
                    work.offered = false;
                }
            }
            Event::Message(message) => self.hear(link, &message),
            _ => {}
        }
    }

    fn hear(&mut self, link: &mut DeviceLink, message: &HostToDevice) {
        match message {
            HostToDevice::Provision(provision) => {
                self.provision = Some(*provision);
                self.ledger = provision.ledger;
                self.last_round = provision.last_round;
                self.booked = provision.last_round.map(|mark| mark.round);
                let (client, ledger) = (provision.client, provision.ledger);
                let _ = link.send(DeviceToHost::Provisioned { client, ledger });
            }
            HostToDevice::Order(order) => {
                let stall = self.stall_in(order.round).filter(|_| order.participate);
                match stall {
                    Some(Stall::HangsUp) => {
                        self.hangs_up = true;
                        return;
                    }
                    Some(Stall::Mute) => return,
                    Some(Stall::DeclinesLate) => {
                        let reply = OrderReply {
                            work: order.mark(),
                            declined: Some(DeclineReason::Energy(Shortfall {
                                needed: PicoJoules(2),
                                available: PicoJoules(1),
                            })),
                            reserved: PicoJoules::ZERO,
                        };
                        self.declines = Some((Instant::now() + LATE, reply));
                        return;
                    }
                    _ => {}
                }
                let declined = self.take(order).err();
                if let Some(work) = self.work.as_mut().filter(|_| declined.is_none()) {
                    match stall {
                        Some(Stall::Idle) => work.at = Instant::now() + FOREVER,
                        Some(Stall::BrownsOut) => {
                            work.at = Instant::now() + FOREVER;
                            self.dies_at = Some(Instant::now() + BROWN_OUT);
                        }
                        _ => {}
                    }
                }
                let reply = OrderReply {
                    work: order.mark(),
                    declined,
                    reserved: PicoJoules::ZERO,
                };
                let _ = link.send(DeviceToHost::OrderReply(reply));
            }
            HostToDevice::Cancel { work } => {
                self.cancelled.push(work.round);
                link.withdraw();
                self.work = None;
            }
            HostToDevice::Commit { mark, counted } => {
                if *counted {
                    self.counted.push(mark.round);
                }
                self.last_round = Some(*mark);
                self.work = None;
            }
            _ => {}
        }
    }

    fn take(&mut self, order: &Order) -> Result<(), DeclineReason> {
        let provision = self.provision.ok_or(DeclineReason::NotProvisioned)?;
        if let Some(mark) = self.last_round.filter(|mark| order.round <= mark.round) {
            return Err(DeclineReason::Stale { newest: mark.round });
        }
        if provision.run != order.run {
            return Err(DeclineReason::OtherRun);
        }
        let mark = order.mark();
        if let Some(work) = self.work.as_mut().filter(|it| it.report.work == mark) {
            work.ordered = true;
            return Ok(());
        }
        self.work = None;
        if order.participate && self.model != Some(order.model) {
            return Err(DeclineReason::Model);
        }
        if let Some(member) = self.member {
            return self.take_and_book(order, &provision, member);
        }
        self.book(order, &provision);
        if order.participate {
            self.trained.push(order.round);
            self.work = Some(self.finish(order));
        }
        Ok(())
    }

    /// Books a round with the expected cycles.
    fn book(&mut self, order: &Order, provision: &Provision) {
        let (cost, pace) = (&provision.cost, &provision.pace);
        let done = match order.participate {
            true => order.activity().at_pace(pace, pace.applying(self.whole)),
            false => Activity::resting(order.listening, order.period),
        };
        if let Some(mut ledger) = Ledger::restore(self.ledger, provision.store) {
            let _ = ledger.end_round(&Flows {
                income: order.income,
                standing: cost.round(&done),
                period: order.period,
                boot: cost.boot,
            });
            self.ledger = ledger.snapshot();
        }
    }

    /// Carries out an order if the ledger can pay for it, and books the round once.
    fn take_and_book(
        &mut self,
        order: &Order,
        provision: &Provision,
        member: Member,
    ) -> Result<(), DeclineReason> {
        if self.booked.is_some_and(|round| order.round <= round) {
            return Ok(());
        }
        let ledger = Ledger::restore(self.ledger, provision.store);
        let mut ledger = ledger.ok_or(DeclineReason::NotProvisioned)?;
        let (cost, pace) = (&provision.cost, &provision.pace);
        let ordered = (order.activity()).at_pace(pace, pace.applying(self.whole));
        let declined = match order.participate {
            true => ledger.reserve(cost.round(&ordered).total()).err(),
            false => None,
        };
        let works = order.participate && declined.is_none();
        let mut due = match works {
            true => cost.round(&ordered),
            false => cost.round(&Activity::resting(order.listening, order.period)),
        };
        for phase in Phase::ALL {
            due[phase].0 *= member.factor;
        }
        let (work, mut standing) = (due, Spent::ZERO);
        if works {
            let _ = ledger.pay(&work);
        } else {
            standing = due;
        }
        let _ = ledger.end_round(&Flows {
            income: order.income,
            standing,
            period: order.period,
            boot: cost.boot,
        });
        self.booked = Some(order.round);
        let before = std::mem::replace(&mut self.ledger, ledger.snapshot());
        if works {
            self.trained.push(order.round);
            let mut finished = self.finish(order);
            let report = &mut finished.report;
            if let Some(lie) = member.lie {
                report.ledger = lie.of(self.ledger, &before, &provision.store);
            }
            report.spent = self.ledger.since(&before).spent;
            report.harvested = order.income;
            report.samples = member.samples;
            // Four scales; without a lie of one unit, and no difference.
            finished
                .update
                .fill(member.lies.map_or(0, |_| -127_i8 as u8));
            for scale in finished.update.as_chunks_mut::<4>().0[..4].iter_mut() {
                *scale = member.lies.unwrap_or(256).to_le_bytes();
            }
            self.work = Some(finished);
        }
        declined.map_or(Ok(()), |shortfall| Err(DeclineReason::Energy(shortfall)))
    }

    fn finish(&self, order: &Order) -> Finished {
        Finished {
            report: report_of(order.mark(), order.epochs, self.ledger),
            update: update_of(self.number, order.round, self.upload_bytes),
            ordered: true,
            reported: false,
            offered: false,
            at: Instant::now() + self.training,
        }
    }
}
