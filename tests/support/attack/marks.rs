//! Authentic frames about another run, round or order: the links accept them, and neither the base
//! station's state machine nor the firmware may.

use std::time::Duration;

use gleaner_shared::energy::Snapshot;
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::{Cycles, Micros, PicoJoules};
use gleaner_shared::wire::FrameBuffer;
use gleaner_shared::wire::link::{DeviceEnd, DeviceLink, Event};
use gleaner_shared::wire::message::{
    DeviceId, DeviceToHost, HostToDevice, LinkMessage, ModelHash, Offer, Order, OrderReply,
    Payload, Progress, WorkMark,
};
use gleaner_station::board::WorkResult;
use gleaner_station::bus::{self, EventReceiver};
use gleaner_station::event::EventKind;
use gleaner_station::link::{Endpoint, memory};
use indicatif::ProgressBar;
use tokio::time::Instant;

use super::hostile::{Enemy, drive};
use crate::client::{about_of, report_of, update_of};
use crate::in_batches;
use crate::in_process::InProcess;
use crate::peers::{MODEL_BYTES, board, job, key_of, timing};
use crate::reference::{exact, initial};
use crate::shard::Digits;
use crate::station::{Station, generous, training_order};

/// Frames to one board's task.
const BATCH: u64 = 6_000;
/// Frames of a round.
const EACH: u64 = 1_500;
/// Orders to one board.
const ORDERS: u64 = 100;
/// The client under attack.
const CLIENT: u32 = 3;

/// Numbers of frames with marks of other work, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames that were sent.
    pub tried: u64,
    /// Frames that had an effect: must be zero.
    pub accepted: u64,
    /// Rounds that lost their own update: must be zero.
    pub lost: u64,
}

impl Tally {
    fn add(self, other: Self) -> Self {
        Self {
            tried: self.tried + other.tried,
            accepted: self.accepted + other.accepted,
            lost: self.lost + other.lost,
        }
    }
}

/// Returns a mark that differs in run, round or order.
fn astray(own: WorkMark, rng: &mut Rng) -> WorkMark {
    let mut mark = own;
    let (at, flip) = (rng.below(16) as usize, 1 + rng.below(255) as u8);
    match rng.below(3) {
        0 => mark.run.0[at] ^= flip,
        1 => mark.order.0[at % mark.order.0.len()] ^= flip,
        _ => mark.round ^= 1 + rng.below(1 << 16),
    }
    mark
}

/// Sends reports, updates and answers about other work to base stations; the same for the same seed.
#[must_use]
pub fn to_stations(frames: u64, seed: u64, bar: &ProgressBar) -> Tally {
    let tallies = in_batches(frames, BATCH, bar, |batch, count| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let rng = Rng::stream(seed, Purpose::Synthetic, 14, batch as u32);
        runtime.block_on(to_station(count, rng))
    });
    tallies.into_iter().fold(Tally::default(), Tally::add)
}

async fn to_station(frames: u64, rng: Rng) -> Tally {
    let (socket, plug) = memory::pair();
    let (events, mut heard) = bus::open();
    let board = board(CLIENT, Endpoint::in_memory(socket), events);
    let rounds = frames.div_ceil(EACH);
    let mut liar = Liar::new(rng, frames.div_ceil(rounds));
    let served = tokio::spawn(async move {
        if let Ok(line) = plug.connect().await {
            let _ = drive(line, &mut liar).await;
        }
        liar.said
    });
    let mut tally = Tally::default();
    for round in 1..=rounds as u32 {
        let own = update_of(CLIENT, round, MODEL_BYTES);
        let lost = match board.work(job(round)).await {
            WorkResult::Done(_, update) => update.bytes != own,
            WorkResult::Missing(_) | WorkResult::Declined(_) => true,
        };
        let made = made_of(&mut heard);
        tally.lost += u64::from(lost || made.contains(&0));
        let extra = made.iter().map(|count| count.saturating_sub(1));
        tally.accepted += extra.sum::<u64>();
    }
    drop(board);
    tally.tried = served.await.unwrap_or_default();
    tally
}

/// Counts the events of a round: one order, one report, one update, and progress.
fn made_of(heard: &mut EventReceiver) -> [u64; 4] {
    let mut made = [0, 0, 0, 1];
    while let Some(event) = heard.try_next() {
        let at = match event.what {
            EventKind::Ordered { .. } => 0,
            EventKind::Reported(_) => 1,
            EventKind::Uploaded { .. } => 2,
            EventKind::Epoch { .. } => 3,
            _ => continue,
        };
        made[at] += 1;
    }
    made
}

/// Progress of the liar with its own work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Asked,
    Accepted,
    Reported,
    Offered,
}

/// A board that speaks of other work before every word about its own.
struct Liar {
    rng: Rng,
    link: DeviceLink,
    began: Instant,
    work: Option<(WorkMark, Stage)>,
    update: Vec<u8>,
    /// Lies for each stage of a round, and how many of this one are left.
    each: u64,
    left: u64,
    said: u64,
}

impl Liar {
    fn new(mut rng: Rng, frames: u64) -> Self {
        let entropy = [rng.next_u32() as u8; 32];
        let device = DeviceId([CLIENT as u8; 12]);
        Self {
            rng,
            link: DeviceLink::new(key_of(CLIENT), Some(entropy), device, timing()),
            began: Instant::now(),
            work: None,
            update: Vec::new(),
            each: frames.div_ceil(3),
            left: 0,
            said: 0,
        }
    }

    fn now(&self) -> Micros {
        Micros(self.began.elapsed().as_micros() as u64)
    }

    fn handle(&mut self, event: Event<DeviceEnd>) {
        match event {
            Event::Connected(()) => {
                let about = about_of(CLIENT, 1 << 17);
                let _ = self.link.send(DeviceToHost::About(about));
            }
            Event::Message(HostToDevice::Provision(provision)) => {
                let (client, ledger) = (provision.client, provision.ledger);
                let _ = self.link.send(DeviceToHost::Provisioned { client, ledger });
            }
            Event::Message(HostToDevice::Order(order)) => {
                self.work = Some((order.mark(), Stage::Asked));
                self.update = update_of(CLIENT, order.round, MODEL_BYTES);
                self.left = self.each;
            }
            _ => {}
        }
    }

    fn lie(&mut self, own: WorkMark) -> DeviceToHost {
        let work = astray(own, &mut self.rng);
        let number = self.rng.next_u32();
        match number % 4 {
            0 => DeviceToHost::OrderReply(accepted(work)),
            1 => DeviceToHost::Progress(Progress {
                work,
                epoch: 1,
                cycles: Cycles(1),
            }),
            2 => DeviceToHost::Report(report_of(work, 1, Snapshot::default())),
            _ => DeviceToHost::Link(LinkMessage::Offer(Offer {
                // Its own transfers have small numbers.
                transfer: number as u16 | 1 << 15,
                payload: Payload::Update,
                work: Some(work),
                len: MODEL_BYTES as u32,
                hash: ModelHash::of(&number.to_le_bytes()),
            })),
        }
    }

    /// Says the next thing about its own work.
    fn go_on(&mut self, own: WorkMark, stage: Stage) {
        let now = self.now();
        let (said, next) = match stage {
            Stage::Asked => {
                let reply = DeviceToHost::OrderReply(accepted(own));
                (self.link.send(reply).is_ok(), Stage::Accepted)
            }
            Stage::Accepted => {
                let report = DeviceToHost::Report(report_of(own, 1, Snapshot::default()));
                (self.link.send(report).is_ok(), Stage::Reported)
            }
            Stage::Reported => {
                let offered = self
                    .link
                    .offer(now, Payload::Update, Some(own), &self.update);
                (offered.is_ok(), Stage::Offered)
            }
            Stage::Offered => return,
        };
        if said {
            self.work = Some((own, next));
            self.left = match next {
                Stage::Offered => 0,
                _ => self.each,
            };
        }
    }
}

fn accepted(work: WorkMark) -> OrderReply {
    OrderReply {
        work,
        declined: None,
        reserved: PicoJoules::ZERO,
    }
}

impl Enemy for Liar {
    fn hear(&mut self, mut bytes: &[u8]) {
        let now = self.now();
        while !bytes.is_empty() {
            if let Some(event) = self.link.receive(now, &mut bytes, &mut []) {
                self.handle(event);
            }
        }
    }

    fn speak(&mut self, line: &mut Vec<u8>) {
        let now = self.now();
        if let Some(event) = self.link.poll(now) {
            self.handle(event);
        }
        let mut frame = FrameBuffer::new();
        for _ in 0..16 {
            // Its own words arrive before the next lies.
            if let Some((own, stage)) = self.work.filter(|_| self.link.is_idle()) {
                if self.left == 0 {
                    self.go_on(own, stage);
                } else {
                    self.left -= 1;
                    self.said += 1;
                    let lie = self.lie(own);
                    self.link.notify(lie);
                }
            }
            while let Some(bytes) = self.link.transmit(now, &self.update, &mut frame) {
                line.extend_from_slice(bytes);
            }
        }
    }

    fn pause(&self) -> Duration {
        let wake = self.link.next_wake().unwrap_or(Micros(u64::MAX));
        Duration::from_micros(wake.saturating_sub(self.now()).0.clamp(1, 1_000_000))
    }
}

/// Brings so many orders of another run to the firmware's client; the same for the same seed.
#[must_use]
pub fn to_boards(orders: u64, seed: u64, bar: &ProgressBar) -> Tally {
    let shard = Digits::take(0, 4).shard(CLIENT, None);
    let tallies = in_batches(orders, ORDERS, bar, |batch, count| {
        let mut rng = Rng::stream(seed, Purpose::Synthetic, 15, batch as u32);
        let mut station = Station::new(InProcess::start(&shard));
        station.connect();
        station.provision(generous(CLIENT, seed));
        let model = station.deliver(Payload::Model, &exact(&initial(seed)));
        let own = training_order(1, 1, model.hash);
        let mut tally = Tally::default();
        for _ in 0..count {
            let mut run = own.run;
            run.0[rng.below(16) as usize] ^= 1 + rng.below(255) as u8;
            let reply = station.order(Order { run, ..own });
            tally.tried += 1;
            tally.accepted += u64::from(reply.declined.is_none());
        }
        // Its own order it carries out as if it had heard of no other.
        tally.lost += u64::from(station.order(own).declined.is_some());
        station.update(1);
        tally
    });
    tallies.into_iter().fold(Tally::default(), Tally::add)
}
