//! A hostile board with a valid key: its messages are authentic.

use std::time::Duration;

use gleaner_shared::energy::Snapshot;
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::{Cycles, Micros, PicoJoules};
use gleaner_shared::wire::link::{DeviceEnd, DeviceLink, Event, Timing};
use gleaner_shared::wire::message::{
    About, DeviceId, DeviceToHost, HostToDevice, LinkMessage, ModelHash, Nack, Offer, OrderReply,
    Payload, Progress, Report, WorkMark,
};
use gleaner_shared::wire::{FrameBuffer, Key};
use tokio::time::Instant;

use super::{Attack, BURST, Enemy};
use crate::client::{about_of, report_of};
use crate::peers::MODEL_BYTES;

/// A hostile board with a valid key.
pub(in crate::attack) struct Insider {
    attack: Attack,
    number: u32,
    rng: Rng,
    link: DeviceLink,
    began: Instant,
    /// The order it accepted last.
    work: Option<WorkMark>,
    provisioned: bool,
    /// Whether the report on the order, and the offer behind it, are still to be said.
    reports: bool,
    offers: bool,
    update: Vec<u8>,
    hung_up: bool,
}

impl Insider {
    pub(in crate::attack) fn new(attack: Attack, number: u32, key: Key, timing: Timing) -> Self {
        let device = DeviceId([number as u8; 12]);
        let mut rng = Rng::stream(1, Purpose::Synthetic, number, attack as u32);
        let entropy = [rng.next_u32() as u8; 32];
        Self {
            attack,
            number,
            rng,
            link: DeviceLink::new(key, Some(entropy), device, timing),
            began: Instant::now(),
            work: None,
            provisioned: false,
            reports: false,
            offers: false,
            update: vec![0; MODEL_BYTES],
            hung_up: false,
        }
    }

    fn now(&self) -> Micros {
        Micros(self.began.elapsed().as_micros() as u64)
    }

    fn about(&self) -> About {
        let mut about = about_of(self.number, 1 << 17);
        if matches!(self.attack, Attack::Abouts | Attack::Sessions) {
            about.build = "\x1b[2J\u{202E}\x07"
                .repeat(7)
                .as_str()
                .try_into()
                .unwrap_or_default();
            about.board = "\x1b]0;\x00\n\r"
                .repeat(3)
                .as_str()
                .try_into()
                .unwrap_or_default();
        }
        about
    }

    fn handle(&mut self, event: Event<DeviceEnd>) {
        match event {
            Event::Connected(()) => {
                self.provisioned = false;
                let _ = self.link.send(DeviceToHost::About(self.about()));
            }
            Event::Offered(_) => drop(self.link.accept(&[0; MODEL_BYTES])),
            Event::Rejected(..) => self.offers = self.attack == Attack::Hashes,
            Event::Message(HostToDevice::Provision(provision)) => {
                self.provisioned = true;
                let _ = self.link.send(DeviceToHost::Provisioned {
                    client: provision.client,
                    ledger: provision.ledger,
                });
                self.hung_up = self.attack == Attack::Sessions;
            }
            Event::Message(HostToDevice::Order(order)) if order.participate => {
                let work = order.mark();
                self.work = Some(work);
                self.reports = matches!(self.attack, Attack::Hashes | Attack::Offers);
                let reply = OrderReply {
                    work,
                    declined: None,
                    reserved: PicoJoules::ZERO,
                };
                let _ = self.link.send(DeviceToHost::OrderReply(reply));
            }
            _ => {}
        }
    }

    /// Returns the next message of a flood.
    fn flood(&mut self) -> Option<DeviceToHost> {
        let number = self.rng.next_u32();
        Some(match self.attack {
            Attack::Progress => DeviceToHost::Progress(Progress {
                work: self.work?,
                epoch: number as u16,
                cycles: Cycles(number.into()),
            }),
            Attack::Reports => {
                let mut work = self.work?;
                work.round = work.round.wrapping_add(number % 2);
                DeviceToHost::Report(Report {
                    loss_after_q16: number,
                    ..report_of(work, 1, Snapshot::default())
                })
            }
            Attack::Offers => DeviceToHost::Link(LinkMessage::Offer(Offer {
                transfer: number as u16,
                payload: Payload::Update,
                work: self.work,
                len: number | 1 << 31,
                hash: ModelHash::default(),
            })),
            Attack::Abouts => DeviceToHost::About(self.about()),
            Attack::Ledgers => DeviceToHost::Provisioned {
                client: self.number,
                ledger: Snapshot {
                    stored: PicoJoules(u64::MAX - u64::from(number)),
                    ..Snapshot::default()
                },
            },
            Attack::Pings if number.is_multiple_of(2) => {
                DeviceToHost::Link(LinkMessage::Nack(Nack {
                    damaged: number,
                    refused: number,
                }))
            }
            Attack::Pings | Attack::Deaf => DeviceToHost::Link(LinkMessage::Ping { token: number }),
            _ => return None,
        })
    }

    /// Says what is due of the order; the bytes that follow do not have the hash on offer.
    fn work(&mut self) {
        let Some(work) = self.work else { return };
        if self.reports {
            let report = report_of(work, 1, Snapshot::default());
            let said = self.link.send(DeviceToHost::Report(report));
            (self.reports, self.offers) = (said.is_err(), self.attack == Attack::Hashes);
        } else if self.offers {
            let now = self.now();
            self.update.fill(0);
            let offered = self
                .link
                .offer(now, Payload::Update, Some(work), &self.update);
            self.offers = offered.is_err();
            self.update.fill(0x77);
        }
    }
}

impl Enemy for Insider {
    fn hear(&mut self, mut bytes: &[u8]) {
        let now = self.now();
        while !bytes.is_empty() {
            if let Some(event) = self.link.receive(now, &mut bytes, &mut [0; MODEL_BYTES]) {
                self.handle(event);
            }
        }
    }

    fn speak(&mut self, line: &mut Vec<u8>) {
        let now = self.now();
        if let Some(event) = self.link.poll(now) {
            self.handle(event);
        }
        self.work();
        let mut frame = FrameBuffer::new();
        for _ in 0..BURST {
            if let Some(message) = self.flood().filter(|_| self.provisioned) {
                self.link.notify(message);
            }
            while let Some(bytes) = self.link.transmit(now, &self.update, &mut frame) {
                line.extend_from_slice(bytes);
            }
        }
    }

    fn hangs_up(&self) -> bool {
        self.hung_up && self.link.is_idle()
    }

    fn is_deaf(&self) -> bool {
        self.attack == Attack::Deaf && self.provisioned
    }

    fn pause(&self) -> Duration {
        let wake = self.link.next_wake().unwrap_or(Micros(u64::MAX));
        Duration::from_micros(wake.saturating_sub(self.now()).0.clamp(1, 1_000_000))
    }
}
