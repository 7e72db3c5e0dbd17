//! A machine under test, and the messages of a well-behaved board.

use gleaner_sim::ClientId;
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::energy::{CostModel, EnergyStore, Flows, Ledger, Pace, Snapshot, Spent};
use gleaner_shared::mlp::UploadCode;
use gleaner_shared::units::{Cycles, Micros, NanoWatts, PicoJoules};
use gleaner_shared::wire::Key;
use gleaner_shared::wire::link::{Greeting, Timing};
use gleaner_shared::wire::message::{
    About, DeclineReason, DeviceId, DeviceToHost, HostToDevice, ModelHash, ModelShape, Offer,
    Order, OrderReply, Payload, Report, RunId, ShardStatus, WorkMark,
};

use crate::board::session::{Action, Answer, Input, Machine, Profile, Request, Want};
use crate::board::{ConfirmedState, Identity, RoundWork, WorkResult};
use crate::event::EventKind;
use crate::fleet_file::Place;
use crate::link::Endpoint;

pub(super) const RUN: RunId = RunId([5; 16]);
pub(super) const CLIENT: u32 = 3;
pub(super) const STORE: EnergyStore = EnergyStore::lossless(PicoJoules(1_000));
pub(super) const INCOME: PicoJoules = PicoJoules(10);
pub(super) const PERIOD: Micros = Micros(60_000);
pub(super) const UPDATE: [u8; 4] = *b"up 4";
/// The limit of a round.
pub(super) const LIMIT: Duration = seconds(60);

pub(super) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Returns the ledger after the income of `rounds` rounds.
pub(super) fn ledger(rounds: u32) -> Snapshot {
    let mut ledger = Ledger::new(PicoJoules(500), STORE);
    let flows = Flows {
        income: INCOME,
        period: PERIOD,
        ..Flows::default()
    };
    for _ in 0..rounds {
        let _ = ledger.end_round(&flows);
    }
    ledger.snapshot()
}

pub(super) fn greeting() -> Box<Greeting> {
    Box::new(Greeting {
        device: DeviceId([1; 12]),
        secure: true,
        generation: 0,
        about: about(),
    })
}

pub(super) fn about() -> About {
    About {
        build: "build".parse().unwrap(),
        board: "board".parse().unwrap(),
        shape: ModelShape {
            inputs: 784,
            hidden: 50,
            outputs: 10,
        },
        largest_transfer: 80_000,
        shard: ShardStatus::Present {
            samples: 100,
            client: CLIENT,
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

pub(super) fn model(round: u32) -> Arc<[u8]> {
    round.to_le_bytes().repeat(2).into()
}

pub(super) fn order(round: u32) -> Order {
    Order {
        run: RUN,
        round,
        participate: true,
        channel: 1,
        code: UploadCode::Q8,
        epochs: 2,
        power: NanoWatts(1_000_000),
        // A board that trained books nothing but its income, so that its ledger is `ledger(1)`.
        drawn: NanoWatts::ZERO,
        airtime: Micros(1_000),
        learning_rate_q24: 1 << 20,
        seed: 1,
        model: ModelHash::of(&model(round)),
        period: PERIOD,
        listening: Micros(100),
        receiving: Micros::ZERO,
        income: INCOME,
        clip_q16: 0,
    }
}

pub(super) fn mark(round: u32) -> WorkMark {
    order(round).mark()
}

pub(super) fn job(round: u32) -> RoundWork {
    RoundWork {
        order: order(round),
        model: model(round),
        update: round
            .checked_sub(1)
            .map(|before| (ModelHash::of(&model(before)), b"change".as_slice().into())),
        upload_bytes: UPDATE.len(),
        limit: LIMIT,
        on_trial: false,
        pace: None,
    }
}

pub(super) fn report(round: u32) -> Report {
    Report {
        work: mark(round),
        trained: true,
        loss_before_q16: 2 << 16,
        loss_after_q16: 1 << 16,
        samples: 100,
        epochs: 2,
        cycles: Cycles(1_000),
        elapsed: Micros(1_000),
        spent: Spent::ZERO,
        harvested: INCOME,
        ledger: ledger(1),
    }
}

/// The offer of a board; an update's names the order of that round.
pub(super) fn offer(payload: Payload, round: u32, bytes: &[u8]) -> Offer {
    Offer {
        transfer: 1,
        payload,
        work: (payload == Payload::Update).then(|| mark(round)),
        len: bytes.len() as u32,
        hash: ModelHash::of(bytes),
    }
}

/// What one turn of the machine returned.
#[derive(Debug, Default)]
pub(super) struct Turn(pub(super) Vec<Action>);

impl Turn {
    pub(super) fn sent(&self) -> Vec<HostToDevice> {
        let sent = self.0.iter().filter_map(|action| match action {
            Action::Send(message) => Some(message.clone()),
            _ => None,
        });
        sent.collect()
    }

    pub(super) fn events(&self) -> Vec<EventKind> {
        let events = self.0.iter().filter_map(|action| match action {
            Action::Publish(event) => Some(event.what.clone()),
            _ => None,
        });
        events.collect()
    }

    pub(super) fn answer(self) -> Option<Answer> {
        self.0.into_iter().find_map(|action| match action {
            Action::Answer(answer) => Some(answer),
            _ => None,
        })
    }

    /// Returns why the work came to nothing, after checking that an event says so.
    pub(super) fn missing(self, round: u32) -> String {
        let (events, sent) = (self.events(), self.sent());
        let reason = match self.answer() {
            Some(Answer::Worked(WorkResult::Missing(reason))) => reason,
            Some(Answer::Worked(WorkResult::Declined(reason))) => format!("declined: {reason}"),
            other => panic!("the work is not over: {other:?}"),
        };
        let what = EventKind::Missing {
            reason: reason.clone(),
        };
        assert_eq!(events.last(), Some(&what));
        assert_eq!(
            sent.last(),
            Some(&HostToDevice::Cancel { work: mark(round) })
        );
        reason
    }

    /// Returns the update that came of the work.
    pub(super) fn done(self) -> Vec<u8> {
        match self.answer() {
            Some(Answer::Worked(WorkResult::Done(_, update))) => update.bytes,
            other => panic!("the work is not done: {other:?}"),
        }
    }
}

/// A machine and its time.
pub(super) struct Board {
    pub(super) machine: Machine,
    pub(super) now: Duration,
}

impl Board {
    /// Starts without a line.
    pub(super) fn new() -> Self {
        Self::with(STORE, CostModel::paper(1e-26, 5e8), Pace::default())
    }

    /// Starts without a line, with half a store of energy.
    pub(super) fn with(store: EnergyStore, cost: CostModel, pace: Pace) -> Self {
        let identity = Identity {
            client: ClientId(CLIENT),
            endpoint: Endpoint::new(Place::Tcp("board:1".to_owned())),
            keys: Key::PUBLIC.into(),
            timing: Timing::for_bit_rate(921_600),
            run: RUN,
            seed: 1,
            store,
            cost,
            pace,
            network: gleaner_shared::board::Shape::PAPER,
            shard_crc: Some(7),
        };
        let confirmed = ConfirmedState::new(PicoJoules(store.capacity.0 / 2), store);
        Self {
            machine: Machine::new(Profile::from(&identity), confirmed),
            now: Duration::ZERO,
        }
    }

    /// Starts with a provisioned session.
    pub(super) fn there() -> Self {
        let mut board = Self::new();
        board.come();
        board
    }

    /// Starts a round's work and sends its order.
    pub(super) fn ordered(round: u32) -> Self {
        let mut board = Self::there();
        board.work(job(round));
        board.queue();
        board
    }

    /// Starts a round's work up to the training.
    pub(super) fn training(round: u32) -> Self {
        let mut board = Self::ordered(round);
        board.reply(round, None);
        board
    }

    /// Starts a round's work up to the report.
    pub(super) fn uploading(round: u32) -> Self {
        let mut board = Self::training(round);
        board.report(round);
        board
    }

    /// Opens line and session, in any state of the board.
    pub(super) fn come(&mut self) -> Turn {
        if self.machine.opens_at().is_some() {
            self.open();
        }
        self.tell(Input::Connected(greeting()));
        self.provisioned()
    }

    pub(super) fn open(&mut self) -> Turn {
        self.tell(Input::Opened {
            place: "memory".to_owned(),
        })
    }

    pub(super) fn provisioned(&mut self) -> Turn {
        self.say(DeviceToHost::Provisioned {
            client: CLIENT,
            ledger: ledger(0),
        })
    }

    pub(super) fn tell(&mut self, input: Input) -> Turn {
        Turn(self.machine.handle(self.now, input))
    }

    pub(super) fn say(&mut self, message: DeviceToHost) -> Turn {
        self.tell(Input::Message(Box::new(message)))
    }

    pub(super) fn ask(&mut self, request: Request) -> Turn {
        Turn(self.machine.ask(self.now, request).expect("not busy"))
    }

    pub(super) fn work(&mut self, job: RoundWork) -> Turn {
        self.ask(Request::Work(Box::new(job)))
    }

    pub(super) fn pass(&mut self, time: Duration) -> Turn {
        self.now += time;
        self.tell(Input::Time)
    }

    /// Queues what the machine wants, and returns it.
    pub(super) fn queue(&mut self) -> (Want, Turn) {
        let want = self.machine.wants().expect("something to queue");
        (want, self.tell(Input::Queued))
    }

    pub(super) fn reply(&mut self, round: u32, declined: Option<DeclineReason>) -> Turn {
        self.say(DeviceToHost::OrderReply(OrderReply {
            work: mark(round),
            declined,
            reserved: PicoJoules::ZERO,
        }))
    }

    pub(super) fn report(&mut self, round: u32) -> Turn {
        self.say(DeviceToHost::Report(report(round)))
    }

    pub(super) fn update(&mut self, round: u32) -> Turn {
        let offer = offer(Payload::Update, round, &UPDATE);
        self.tell(Input::Received(offer, UPDATE.to_vec()))
    }

    /// Does a round's work from the order on, which the board accepts at once.
    pub(super) fn finish(&mut self, round: u32) -> Vec<u8> {
        assert_eq!(self.queue().0, Want::Say(HostToDevice::Order(order(round))));
        self.reply(round, None);
        self.report(round);
        self.update(round).done()
    }
}
