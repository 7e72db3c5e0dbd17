//! A base station with one client: the host's link, driven over any [`Wire`].

use gleaner_shared::energy::{CostModel, EnergyStore, Ledger, Pace, Snapshot};
use gleaner_shared::mlp::UploadCode;
use gleaner_shared::units::{Cycles, Micros, NanoWatts, PicoJoules};
use gleaner_shared::wire::link::{Event, HostEnd, HostLink, Timing};
use gleaner_shared::wire::message::{
    About, DeviceToHost, HostToDevice, Mark, MeasureRefusal, MeasureStep, ModelHash, Offer, Order,
    OrderReply, Payload, Provision, RejectReason, Report, RoundMark, RunId,
};
use gleaner_shared::wire::{FrameBuffer, Insecure, Keyring, MAX_TRANSFER};

use crate::wire::Wire;

/// The run of the tests.
pub const RUN: RunId = RunId([0x52; 16]);

/// The income of every round.
pub const INCOME: PicoJoules = PicoJoules(500_000_000_000);

/// The host's end of one link.
pub struct Station<W, K = Insecure> {
    /// Line to the client.
    pub wire: W,
    /// The link's state machine.
    pub link: HostLink<K>,
    /// What the client sends.
    pub store: Vec<u8>,
    /// What the client is sent.
    pub source: Vec<u8>,
    /// What the client said of itself in the newest session.
    pub about: Option<About>,
    /// Updates that arrived whole, by round.
    pub updates: Vec<(u32, Vec<u8>)>,
    /// What a measured client did.
    pub marks: Vec<Mark>,
    frame: FrameBuffer,
    input: Vec<u8>,
}

impl<W: Wire> Station<W> {
    /// Creates a station that uses no keys.
    pub fn new(wire: W) -> Self {
        Self::with_keys(wire, Insecure)
    }
}

impl<W: Wire, K: Keyring> Station<W, K> {
    /// Creates a station that uses these keys.
    pub fn with_keys(wire: W, keys: K) -> Self {
        let timing = Timing::for_bit_rate(wire.bit_rate());
        Self {
            wire,
            link: HostLink::new(keys, [7; 32], timing),
            store: vec![0; MAX_TRANSFER],
            source: Vec::new(),
            about: None,
            updates: Vec::new(),
            marks: Vec::new(),
            frame: FrameBuffer::new(),
            input: Vec::new(),
        }
    }

    /// Returns when patience with the client ends.
    pub fn deadline(&self) -> Micros {
        self.wire.now().saturating_add(self.wire.patience())
    }

    /// Runs until `wanted` finds what it looks for, or the time is up.
    pub fn run_until<T>(
        &mut self,
        deadline: Micros,
        mut wanted: impl FnMut(&mut Self, &Event<HostEnd>) -> Option<T>,
    ) -> Option<T> {
        loop {
            while let Some(event) = self.next_event() {
                self.note(&event);
                if let Some(found) = wanted(self, &event) {
                    return Some(found);
                }
            }
            let now = self.wire.now();
            if now >= deadline {
                return None;
            }
            let mut out = Vec::new();
            while let Some(bytes) = self.link.transmit(now, &self.source, &mut self.frame) {
                out.extend_from_slice(bytes);
            }
            let wake = self.link.next_wake().unwrap_or(deadline).min(deadline);
            self.input = self.wire.exchange(&out, wake.max(now));
        }
    }

    fn next_event(&mut self) -> Option<Event<HostEnd>> {
        let now = self.wire.now();
        let mut rest = &self.input[..];
        let event = self.link.receive(now, &mut rest, &mut self.store);
        let taken = self.input.len() - rest.len();
        self.input.drain(..taken);
        event.or_else(|| self.link.poll(now))
    }

    /// Does what every event asks for, whoever waits for it.
    fn note(&mut self, event: &Event<HostEnd>) {
        match event {
            Event::Connected(greeting) => self.about = Some(greeting.about.clone()),
            Event::Message(DeviceToHost::Mark(mark)) => self.marks.push(*mark),
            Event::Offered(_) => {
                let _ = self.link.accept(&self.store);
            }
            Event::Received(offer) => {
                let bytes = self.store[..offer.len as usize].to_vec();
                // A transfer of a round that is already here is the same update again.
                if let Some(work) = offer.work
                    && !self.updates.iter().any(|(round, _)| *round == work.round)
                {
                    self.updates.push((work.round, bytes));
                }
            }
            _ => {}
        }
    }

    /// Waits for a message.
    ///
    /// # Panics
    /// When it does not come in time.
    #[track_caller]
    pub fn expect<T>(&mut self, mut pick: impl FnMut(&DeviceToHost) -> Option<T>) -> T {
        let deadline = self.deadline();
        self.run_until(deadline, |_, event| match event {
            Event::Message(message) => pick(message),
            _ => None,
        })
        .expect("the client says what is expected of it")
    }

    /// Waits for a session.
    ///
    /// # Panics
    /// When none opens in time.
    #[track_caller]
    pub fn connect(&mut self) -> About {
        let deadline = self.deadline();
        self.run_until(deadline, |_, event| match event {
            Event::Connected(greeting) => Some(greeting.about.clone()),
            _ => None,
        })
        .expect("the client connects")
    }

    /// Says something that must arrive.
    ///
    /// # Panics
    /// Without a session or with a full queue.
    #[track_caller]
    pub fn say(&mut self, message: HostToDevice) {
        self.link.send(message).expect("a session with room");
    }

    /// Provisions the client and returns the ledger it goes on with.
    #[track_caller]
    pub fn provision(&mut self, provision: Provision) -> Snapshot {
        self.say(HostToDevice::Provision(provision));
        self.expect(|message| match message {
            DeviceToHost::Provisioned { ledger, .. } => Some(*ledger),
            _ => None,
        })
    }

    /// Tells a client to take a step of a measurement and returns why it does not.
    #[track_caller]
    pub fn measure(&mut self, number: u32, step: MeasureStep) -> Option<MeasureRefusal> {
        let answer = self.try_measure(number, step);
        answer.expect("the client says what is expected of it")
    }

    /// Has a measured board carry out a step and returns its answer, or `None` if none comes in time.
    pub fn try_measure(
        &mut self,
        number: u32,
        step: MeasureStep,
    ) -> Option<Option<MeasureRefusal>> {
        self.say(HostToDevice::Measure { number, step });
        let deadline = self.deadline();
        self.run_until(deadline, |_, event| match *event {
            Event::Message(DeviceToHost::Measured {
                number: found,
                refused,
            }) if found == number => Some(refused),
            _ => None,
        })
    }

    /// Gives an order and returns the answer.
    #[track_caller]
    pub fn order(&mut self, order: Order) -> OrderReply {
        self.say(HostToDevice::Order(order));
        self.expect(|message| match message {
            DeviceToHost::OrderReply(reply) if reply.work == order.mark() => Some(*reply),
            _ => None,
        })
    }

    /// Sends bytes and returns when they arrived whole.
    ///
    /// # Panics
    /// When they do not.
    #[track_caller]
    pub fn deliver(&mut self, payload: Payload, bytes: &[u8]) -> Offer {
        self.try_deliver(payload, bytes)
            .expect("the transfer arrives")
    }

    /// Delivers bytes to the client; returns `None` if the transfer does not arrive in time.
    ///
    /// # Panics
    /// When the client rejects the transfer or there is no session.
    pub fn try_deliver(&mut self, payload: Payload, bytes: &[u8]) -> Option<Offer> {
        self.source = bytes.to_vec();
        let now = self.wire.now();
        let offer = self
            .link
            .offer(now, payload, None, &self.source)
            .expect("a session without another transfer");
        let deadline = self.deadline();
        self.run_until(deadline, |station, event| match event {
            Event::Delivered(delivered) if delivered.hash == offer.hash => Some(*delivered),
            Event::Rejected(_, reason) if *reason != RejectReason::Busy => {
                panic!("the client rejects the transfer: {reason:?}")
            }
            Event::TransferTimedOut(_) | Event::Rejected(..) => {
                let pause = Micros(u64::from(matches!(event, Event::Rejected(..))) * 20_000);
                let now = station.wire.now().saturating_add(pause);
                station.input.extend(station.wire.exchange(&[], now));
                let now = station.wire.now();
                let again = station.link.offer(now, payload, None, &station.source);
                again.map(drop).expect("a session");
                None
            }
            _ => None,
        })
    }

    /// Waits for the report of a round.
    #[track_caller]
    pub fn report(&mut self, round: u32) -> Report {
        self.expect(|message| match message {
            DeviceToHost::Report(report) if report.work.round == round => Some(*report),
            _ => None,
        })
    }

    /// Waits for the update of a round.
    ///
    /// # Panics
    /// When it does not come in time.
    #[track_caller]
    pub fn update(&mut self, round: u32) -> Vec<u8> {
        let find = |station: &Self| {
            let found = station.updates.iter().find(|(of, _)| *of == round);
            found.map(|(_, bytes)| bytes.clone())
        };
        if let Some(bytes) = find(self) {
            return bytes;
        }
        let deadline = self.deadline();
        self.run_until(deadline, |station, event| match event {
            Event::Received(_) => find(station),
            _ => None,
        })
        .expect("the update arrives")
    }

    /// Commits a round with its update counted.
    #[track_caller]
    pub fn commit(&mut self, mark: RoundMark) {
        self.say(HostToDevice::Commit {
            mark,
            counted: true,
        });
        self.settle();
    }

    /// Runs until everything said was acknowledged.
    ///
    /// # Panics
    /// When that takes too long.
    #[track_caller]
    pub fn settle(&mut self) {
        let deadline = self.deadline();
        while !self.link.is_idle() {
            let now = self.wire.now();
            assert!(now < deadline, "the client acknowledges");
            let soon = now.saturating_add(Micros(2_000));
            self.run_until(soon, |_, _| None::<()>);
        }
    }
}

/// Expected cycles of a client's work, each its own number.
pub const PACE: Pace = Pace {
    epoch: Cycles(8_000_000),
    evaluate: Cycles(4_000_000),
    apply_change: Cycles(1_500_000),
    apply_whole: Cycles(1_200_000),
    encode: Cycles(2_000_000),
    open_change: Cycles(8_200_000),
    open_whole: Cycles(16_400_000),
    seal: Cycles(7_600_000),
};

/// A provision with energy for anything.
#[must_use]
pub fn generous(client: u32, seed: u64) -> Provision {
    let store = EnergyStore::lossless(PicoJoules::from_joules(1_000.0));
    Provision {
        run: RUN,
        client,
        seed,
        store,
        cost: CostModel {
            receive: NanoWatts(60_000_000),
            idle: NanoWatts(30_000_000),
            sleep: NanoWatts(4_000_000),
            save: PicoJoules(1_000_000_000),
            ..CostModel::paper(4.2e-26, 125e6)
        },
        pace: PACE,
        ledger: Ledger::new(PicoJoules::from_joules(100.0), store).snapshot(),
        last_round: None,
        adopt: false,
    }
}

/// An order to train `epochs` from `model`.
#[must_use]
pub fn training_order(round: u32, epochs: u16, model: ModelHash) -> Order {
    Order {
        run: RUN,
        round,
        participate: true,
        channel: 0,
        code: UploadCode::Q8,
        epochs,
        power: NanoWatts(50_000_000),
        drawn: NanoWatts(50_000_000),
        airtime: Micros(8_000),
        learning_rate_q24: 1 << 23,
        seed: 0x5EED,
        model,
        period: Micros(60_000_000),
        listening: Micros(20_000),
        receiving: Micros(180_000),
        income: INCOME,
        clip_q16: 0,
    }
}
