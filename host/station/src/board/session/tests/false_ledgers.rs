//! Boards with a key that send consistent but false ledgers: refused, and charged all the same.

use gleaner_shared::energy::{
    Activity, ComputeModel, CostModel, EnergyStore, Flows, Ledger, Pace, Phase, RadioModel,
    Snapshot,
};
use gleaner_shared::units::{Cycles, HertzInt, Micros, NanoWatts, PicoJoules};
use gleaner_shared::wire::message::{
    DeviceToHost, HostToDevice, ModelHash, Order, OrderReply, Payload, Report, RoundMark,
};

use super::scene::*;
use crate::board::session::{Answer, Input, Request};
use crate::board::{Closing, ConfirmedState, RoundWork, WorkResult};
use crate::event::EventKind;

const STORE: EnergyStore = EnergyStore {
    capacity: PicoJoules(8_000),
    charge_permille: 900,
    leakage: NanoWatts(1),
    restart: PicoJoules(100),
};

const COST: CostModel = CostModel {
    compute: ComputeModel {
        femtojoules_per_cycle: 1_000,
        per_epoch: PicoJoules(3),
    },
    radio: RadioModel::PAPER,
    receive: NanoWatts(1_000),
    idle: NanoWatts::ZERO,
    sleep: NanoWatts(2),
    save: PicoJoules(5),
    boot: PicoJoules(7),
    clock: HertzInt(1_000_000),
};

const PACE: Pace = Pace {
    epoch: Cycles(100),
    evaluate: Cycles(50),
    apply_change: Cycles(15),
    apply_whole: Cycles(12),
    encode: Cycles(20),
    open_change: Cycles(8),
    open_whole: Cycles(16),
    seal: Cycles(7),
};

const INCOME: PicoJoules = PicoJoules(100);

/// Returns an order that costs more than the income of its round.
fn costly(round: u32) -> Order {
    Order {
        drawn: NanoWatts(300),
        airtime: Micros(1_000),
        receiving: Micros(50),
        income: INCOME,
        ..order(round)
    }
}

fn costly_job(round: u32) -> RoundWork {
    RoundWork {
        order: costly(round),
        update: None,
        ..job(round)
    }
}

/// Returns the ledger of a board that carries out the order with the expected cycles.
fn honest(before: &Snapshot, order: &Order) -> Snapshot {
    after(before, order, &activity(order))
}

/// Returns the ordered activity with the expected cycles.
fn activity(order: &Order) -> Activity {
    order.activity().at_pace(&PACE, PACE.applying(false))
}

/// Returns the ledger after a round of this activity.
fn after(before: &Snapshot, order: &Order, done: &Activity) -> Snapshot {
    let (work, standing) = COST.round(done).split();
    let mut ledger = Ledger::restore(*before, STORE).expect("a good ledger");
    let _ = ledger.pay(&work);
    let _ = ledger.end_round(&Flows {
        income: order.income,
        standing,
        period: order.period,
        boot: COST.boot,
    });
    ledger.snapshot()
}

/// Moves an amount from what was spent to where the ledger stays consistent.
fn unspent(mut ledger: Snapshot, before: &Snapshot, to: fn(&mut Snapshot) -> &mut u64) -> Snapshot {
    let spent = ledger.spent.total().0 - before.spent.total().0;
    ledger.spent = before.spent;
    *to(&mut ledger) += spent;
    ledger
}

const HALF: u64 = 1 << 63;

/// A false ledger, made of the true one and the one before the round.
type Lie = fn(Snapshot, &Snapshot) -> Snapshot;

/// Consistent lies with the amount that gives each away.
const LIES: [(&str, &str, Lie); 13] = [
    ("a filled store", "initial", |mut it, _| {
        it.initial.0 += STORE.capacity.0 - it.stored.0;
        it.stored = STORE.capacity;
        it
    }),
    ("another initial energy", "initial", |mut it, _| {
        it.initial.0 += 500;
        it.stored.0 += 500;
        it
    }),
    ("nothing spent", "radio", |it, before| {
        unspent(it, before, |it| &mut it.stored.0)
    }),
    (
        "half a range more harvested and lost",
        "harvested",
        |mut it, _| {
            it.harvested.0 += HALF;
            it.conversion.0 += HALF;
            it
        },
    ),
    (
        "half a range more harvested and spent",
        "harvested",
        |mut it, _| {
            it.harvested.0 += HALF;
            it.spent[Phase::Train].0 += HALF;
            it
        },
    ),
    ("the round set back", "rounds", |_, before| *before),
    ("a round more", "rounds", |it, _| honest(&it, &costly(9))),
    ("more harvested", "harvested", |mut it, _| {
        it.harvested.0 += 100;
        it.stored.0 += 100;
        it
    }),
    ("spending as charging loss", "conversion", |it, before| {
        unspent(it, before, |it| &mut it.conversion.0)
    }),
    ("spending as leakage", "radio", |it, before| {
        unspent(it, before, |it| &mut it.leaked.0)
    }),
    ("spending as overflow", "radio", |it, before| {
        unspent(it, before, |it| &mut it.overflow.0)
    }),
    ("no leakage", "stored", |mut it, before| {
        it.stored.0 += it.leaked.0 - before.leaked.0;
        it.leaked = before.leaked;
        it
    }),
    ("off with energy left", "off", |mut it, _| {
        it.off = true;
        it
    }),
];

fn start() -> Board {
    let mut board = Board::with(STORE, COST, PACE);
    board.open();
    board.tell(Input::Connected(greeting()));
    provisioned(
        &mut board,
        ConfirmedState::new(PicoJoules(4_000), STORE).ledger,
    );
    board
}

fn provisioned(board: &mut Board, ledger: Snapshot) -> Turn {
    board.say(DeviceToHost::Provisioned {
        client: CLIENT,
        ledger,
    })
}

/// Gives the order of a round, which is accepted, and returns the turn of the report.
fn report_on(board: &mut Board, round: u32, ledger: Snapshot) -> Turn {
    let order = costly(round);
    board.queue();
    board.say(DeviceToHost::OrderReply(OrderReply {
        work: order.mark(),
        declined: None,
        reserved: PicoJoules::ZERO,
    }));
    board.say(DeviceToHost::Report(Report {
        work: order.mark(),
        ledger,
        harvested: INCOME,
        ..report(round)
    }))
}

fn refusals(turn: &Turn) -> Vec<String> {
    let events = turn.events().into_iter();
    events
        .filter_map(|event| match event {
            EventKind::LedgerRefused { field, .. } => Some(field),
            _ => None,
        })
        .collect()
}

fn upload(board: &mut Board, round: u32) -> WorkResult {
    let mut offer = offer(Payload::Update, round, &UPDATE);
    offer.work = Some(costly(round).mark());
    match board.tell(Input::Received(offer, UPDATE.to_vec())).answer() {
        Some(Answer::Worked(result)) => result,
        other => panic!("the work is not over: {other:?}"),
    }
}

fn close(
    board: &mut Board,
    round: u32,
    rest: Option<Order>,
) -> (ConfirmedState, Vec<HostToDevice>) {
    let mark = RoundMark {
        run: RUN,
        round,
        model: ModelHash::default(),
    };
    let turn = board.ask(Request::Close(Closing {
        mark,
        counted: rest.is_none(),
        income: INCOME,
        period: PERIOD,
        rest,
    }));
    let sent = turn.sent();
    match turn.answer() {
        Some(Answer::Closed(confirmed)) => (confirmed, sent),
        other => panic!("the round is not closed: {other:?}"),
    }
}

#[test]
fn a_true_ledger_is_taken_over_round_after_round() {
    let mut board = start();
    let mut ledger = board.machine.booking.confirmed().ledger;
    for round in 0..5 {
        board.work(costly_job(round));
        ledger = honest(&ledger, &costly(round));
        assert_eq!(refusals(&report_on(&mut board, round, ledger)), [""; 0]);
        assert!(matches!(upload(&mut board, round), WorkResult::Done(..)));
        let (confirmed, sent) = close(&mut board, round, None);
        assert_eq!(confirmed.ledger, ledger);
        assert!(matches!(sent[..], [HostToDevice::Commit { .. }]));
    }
}

#[test]
fn a_board_that_always_lies_is_charged_every_round_until_its_orders_stop() {
    for (name, field, lie) in LIES {
        let mut board = start();
        let mut booked = board.machine.booking.confirmed().ledger;
        let mut rounds = 0;
        while rounds < 20 {
            let order = costly(rounds);
            let turn = board.work(costly_job(rounds));
            if let Some(Answer::Worked(WorkResult::Declined(reason))) = turn.answer() {
                assert!(reason.contains("as the base station books"), "{reason}");
                break;
            }
            let truth = honest(&booked, &order);
            let lie = lie(truth, &booked);
            if lie == truth {
                // The store has run dry: nothing leaks, and the board is off.
                booked = truth;
                break;
            }
            let turn = report_on(&mut board, rounds, lie);
            assert_eq!(refusals(&turn), [field], "{name}, round {rounds}");
            // The update counts: what it cost is another matter.
            assert!(matches!(upload(&mut board, rounds), WorkResult::Done(..)));
            booked = truth;
            let (confirmed, sent) = close(&mut board, rounds, None);
            assert_eq!(confirmed.ledger, booked, "{name}, round {rounds}");
            let [
                HostToDevice::Provision(provision),
                HostToDevice::Commit { .. },
            ] = sent[..]
            else {
                panic!("{name}: it is told to continue with the booking: {sent:?}");
            };
            assert!(provision.adopt, "{name}");
            assert_eq!(provision.ledger, booked, "{name}");
            rounds += 1;
        }
        // Four thousand picojoules last for as many rounds as of an honest board.
        assert!((3..10).contains(&rounds), "{name}: {rounds}");
        assert!(booked.stored < PicoJoules(1_000), "{name}: {booked:?}");
    }
}

#[test]
fn a_board_that_takes_the_booking_over_is_believed_again() {
    let mut board = start();
    let before = board.machine.booking.confirmed().ledger;
    board.work(costly_job(0));
    let truth = honest(&before, &costly(0));
    let lie = Snapshot {
        initial: PicoJoules(truth.initial.0 + 9),
        stored: PicoJoules(truth.stored.0 + 9),
        ..truth
    };
    report_on(&mut board, 0, lie);
    upload(&mut board, 0);
    let (confirmed, _) = close(&mut board, 0, None);
    assert!(
        provisioned(&mut board, confirmed.ledger)
            .events()
            .is_empty()
    );
    board.work(costly_job(1));
    let next = honest(&confirmed.ledger, &costly(1));
    assert_eq!(refusals(&report_on(&mut board, 1, next)), [""; 0]);
    upload(&mut board, 1);
    let (confirmed, sent) = close(&mut board, 1, None);
    assert_eq!(confirmed.ledger, next);
    assert!(matches!(sent[..], [HostToDevice::Commit { .. }]));
}

#[test]
fn a_false_ledger_in_a_greeting_is_replaced_before_the_order_once_a_session() {
    let mut board = Board::with(STORE, COST, PACE);
    board.open();
    board.tell(Input::Connected(greeting()));
    let confirmed = board.machine.booking.confirmed().ledger;
    let full = Snapshot {
        initial: STORE.capacity,
        stored: STORE.capacity,
        ..confirmed
    };
    let turn = provisioned(&mut board, full);
    assert_eq!(refusals(&turn), ["initial"]);
    let [HostToDevice::Provision(provision)] = turn.sent()[..] else {
        panic!("it is told to continue with the booking: {:?}", turn.sent());
    };
    assert!(provision.adopt);
    assert_eq!(provision.ledger, confirmed);
    // A board that insists is not told without end.
    assert!(provisioned(&mut board, full).sent().is_empty());
    // In the next session it is told at once.
    let turn = board.tell(Input::Connected(greeting()));
    assert!(matches!(turn.sent()[..], [HostToDevice::Provision(it)] if it.adopt));
}

#[test]
fn a_ledger_of_less_than_half_the_modelled_cycles_is_refused_and_one_of_more_is_not() {
    let order = costly(0);
    let with_cycles = |before: &Snapshot, train: u64| {
        let done = Activity {
            train: Cycles(train),
            ..activity(&order)
        };
        after(before, &order, &done)
    };
    for (train, refused) in [(20, 1), (120, 0), (200, 0), (900, 0)] {
        let mut board = start();
        let before = board.machine.booking.confirmed().ledger;
        board.work(costly_job(0));
        let turn = report_on(&mut board, 0, with_cycles(&before, train));
        assert_eq!(refusals(&turn).len(), refused, "{train} cycles");
    }
}

/// A power cut after a refused report must not lead back to before the order was paid.
#[test]
fn a_refused_report_stays_booked_when_the_board_returns_with_the_ledger_of_before() {
    let mut board = start();
    let before = board.machine.booking.confirmed().ledger;
    board.work(costly_job(0));
    let truth = honest(&before, &costly(0));
    let lie = unspent(truth, &before, |it| &mut it.stored.0);
    assert_eq!(refusals(&report_on(&mut board, 0, lie)), ["radio"]);
    board.tell(Input::Lost {
        reason: "silence".to_owned(),
    });
    board.tell(Input::Connected(greeting()));
    provisioned(&mut board, before);
    board.pass(seconds(500));
    let rest = Order {
        participate: false,
        ..costly(0)
    };
    let (confirmed, _) = close(&mut board, 0, Some(rest));
    assert_eq!(confirmed.ledger, truth);
}
